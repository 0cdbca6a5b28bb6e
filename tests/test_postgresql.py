"""What lives in the database once more, on PostgreSQL: metadata, push, the outbox."""

from __future__ import annotations

import faulthandler
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

LEFT_OUT = (
    # About commands, files or a memory: they execute no statement, and pass no value, that others do not.
    *(f"tests/metadata/test_{name}.py" for name in ("compression", "iceberg_export", "report_command")),
    *(f"tests/metadata/test_{name}.py" for name in ("spark_settings", "ttl_cache")),
    # What the relay does with rows is the same whatever it publishes with.
    "tests/sdk/django/outbox/test_http.py",
    # It takes DATABASE_URL from the processes that it starts, so it would do the same once more.
    "tests/metadata/test_commands.py::test_a_process_starts_without_what_it_does_not_need",
)

LIMIT_S = 3_600
"""For all; two processors with nothing else to do take a minute and a half."""


def test_what_is_left_out_exists() -> None:
    for each in LEFT_OUT:
        file, _, test = each.partition("::")
        assert f"def {test}" in (ROOT / file).read_text(), each


@pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
@pytest.mark.skipif(
    os.environ.get("DATABASE_URL", "").startswith("postgres"), reason="these tests run on PostgreSQL already"
)
def test_what_lives_in_the_database_lives_in_postgresql_too() -> None:
    chosen = ["-m", "database", *(f"--deselect={each}" for each in LEFT_OUT), *AGAIN]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen]
    faulthandler.cancel_dump_traceback_later()  # each of those tests has a limit of its own
    with private_postgres() as url:
        environment = os.environ | {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "tests.settings"}
        result = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT, timeout=LIMIT_S)
        print(result.stdout)
    assert result.returncode == 0, result.stdout[-20_000:]
    assert " passed" in result.stdout
