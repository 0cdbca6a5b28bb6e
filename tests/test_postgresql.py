"""What lives in the database once more, on PostgreSQL: metadata, push, the outbox."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.postgres import private_postgres, why_not

ROOT = Path(__file__).parents[1]
AGAIN = (
    *("tests/metadata", "tests/push/test_delivery.py", "tests/dashboard/test_push_forms.py"),
    "tests/sdk/django/outbox",
)

METADATA = "tests/metadata"
SIGN_INS = f"{METADATA}/test_sign_ins.py"
RETENTION = f"{METADATA}/test_lake_retention.py"
OUTBOX = "tests/sdk/django/outbox"
PUSH = "tests/push/test_delivery.py"
PUSH_FORMS = "tests/dashboard/test_push_forms.py"
MAKING = f"{METADATA}/test_report_making.py"
LEFT_OUT = (
    # They are about commands, files or a memory.
    *(f"{METADATA}/test_{name}.py" for name in ("compression", "iceberg_export", "report_command", "spark_settings")),
    f"{METADATA}/test_ttl_cache.py",
    # Processes that start, which would do the same once more; options; an outage of Redis.
    f"{METADATA}/test_commands.py::test_a_process_starts_without_what_it_does_not_need",
    f"{METADATA}/test_authentication.py::test_another_process_refuses_a_revoked_token_",
    f"{OUTBOX}/test_docs.py::test_the_settings_without_a_project_work",
    f"{OUTBOX}/test_processes.py::test_bad_options_",
    f"{OUTBOX}/test_processes.py::test_while_redis_is_away_",
    f"{OUTBOX}/test_processes.py::test_a_relay_that_is_killed_publishes_nothing_twice[]",
    # What the relay does with rows is the same whatever it publishes with; what Redis remembers of them.
    f"{OUTBOX}/test_http.py",
    f"{OUTBOX}/test_relay.py::test_ids_are_forgotten_soon_after",
    # What receivers of pushes answer, and how fast they are.
    *(f"{PUSH}::test_a_job_{rest}" for rest in ("whose_tries_", "with_a_backoff_")),
    *(f"{PUSH}::test_{rest}" for rest in ("any_other_status_", "nobody_there_", "one_that_never_answers_")),
    *(
        f"{PUSH}::test_{rest}"
        for rest in ("retry_after_", "leases_are_extended_", "limits_of_keys_", "bodies_in_memory_")
    ),
    *(
        f"{PUSH}::test_{rest}"
        for rest in ("the_rate_is_bounded_", "concurrency_is_bounded_", "a_host_without_open_files_")
    ),
    # Failures to sign in, which are counted in the cache.
    *(
        f"{SIGN_INS}::test_{rest}"
        for rest in ("an_address_is_", "an_account_is_", "where_a_program_", "a_browser_that_")
    ),
    *(f"{SIGN_INS}::test_{rest}" for rest in ("a_program_", "what_was_right_", "the_cookie_", "a_known_browser_")),
    *(
        f"{SIGN_INS}::test_{rest}"
        for rest in ("addresses_of_", "a_refused_password_", "strangers_who_", "failures_are_")
    ),
    # What of the lake's files goes, and what is said of it.
    *(
        f"{RETENTION}::test_{rest}"
        for rest in ("a_dry_run_", "the_command_", "the_list_", "what_reports_need_stays_and_")
    ),
    *(f"{RETENTION}::test_{rest}" for rest in ("a_lake_that_is_too_large_", "by_default_", "the_pump_does_it_")),
    # What forms say and to whom they are shown.
    f"{PUSH_FORMS}::test_what_is_wrong_is_said_beside_its_field",
    f"{PUSH_FORMS}::test_an_operator_gets_no_form_",
    # What the process that computes a report says, does and leaves behind.
    *(f"{MAKING}::test_{rest}" for rest in ("what_goes_wrong_", "what_the_process_wrote_", "the_process_")),
    *(f"{MAKING}::test_{rest}" for rest in ("noise_between_", "of_very_many_warnings_", "progress_is_told_")),
    *(f"{MAKING}::test_{rest}" for rest in ("a_table_without_", "a_damaged_file_", "a_figure_that_is_missing_")),
    *(f"{MAKING}::test_{rest}" for rest in ("a_summary_that_", "a_file_that_compaction_")),
    *(f"{MAKING}::test_{rest}" for rest in ("a_run_that_ended_", "a_command_", "the_files_of_a_day_", "made_up_data_")),
    # What a report's figures mean.
    *(f"{MAKING}::test_{rest}" for rest in ("an_objective_", "a_target_", "what_is_better_", "a_queue_that_fell_")),
)
"""Files and beginnings of tests that execute no statement which other tests do not execute, too.

Whatever is not listed is run, new tests included.
"""


def test_what_is_left_out_exists() -> None:
    for each in LEFT_OUT:
        file, _, test = each.partition("::")
        assert f"def {test.partition('[')[0]}" in (ROOT / file).read_text(), each


@pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
@pytest.mark.skipif(
    os.environ.get("DATABASE_URL", "").startswith("postgres"), reason="these tests run on PostgreSQL already"
)
def test_what_lives_in_the_database_lives_in_postgresql_too() -> None:
    chosen = ["-m", "database", *(f"--deselect={each}" for each in LEFT_OUT), *AGAIN]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen]
    with private_postgres() as url:
        environment = os.environ | {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "tests.settings"}
        result = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT)
        print(result.stdout)
    assert result.returncode == 0, result.stdout[-20_000:]
    assert " passed" in result.stdout
