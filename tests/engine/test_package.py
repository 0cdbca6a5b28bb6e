"""The engine as a package: what importing it loads, and its trees of errors and limits."""

from __future__ import annotations

import json
import subprocess
import sys

import queues.engine
from queues.engine import TaskqError, constants, errors

IMPORT = """
import json, sys
import queues.engine
print(json.dumps(sorted(sys.modules)))
"""


def loaded_by_the_import() -> set[str]:
    """Modules that `import queues.engine` loads in a fresh interpreter."""
    run = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))


def test_importing_the_engine_loads_no_django_and_no_other_layer() -> None:
    modules = loaded_by_the_import()

    strangers = {"django", "rest_framework", "apscheduler", "uvicorn", "pyspark", "taskq_site", "dashboard"}
    assert not modules & strangers
    ours = {name for name in modules if name.startswith("queues.")}
    assert {name for name in ours if not name.startswith("queues.engine")} == set()


def test_everything_that_is_exported_exists_and_is_listed_in_order() -> None:
    exported = queues.engine.__all__

    assert len(set(exported)) == len(exported)
    assert all(hasattr(queues.engine, name) for name in exported)


def all_errors(base: type[TaskqError] = TaskqError) -> list[type[TaskqError]]:
    return [base, *(found for child in base.__subclasses__() for found in all_errors(child))]


def test_every_error_has_a_code_of_its_own() -> None:
    found = [error for error in all_errors() if error.__module__ == errors.__name__]

    codes = [error.code for error in found]
    assert len(set(codes)) == len(codes) > 5
    assert all(code and code == code.lower() and code.isidentifier() for code in codes)


def test_every_error_says_something_in_its_docstring() -> None:
    assert all((error.__doc__ or "").strip() for error in all_errors())


def test_limits_are_positive_and_consistent() -> None:
    numbers = {name: value for name, value in vars(constants).items() if name.isupper()}

    assert all(isinstance(value, (int, float)) for value in numbers.values())
    assert all(value > 0 for name, value in numbers.items() if name != "PRIORITY_MIN")
    assert constants.PRIORITY_MIN == -constants.PRIORITY_MAX
    assert constants.BODY_MAX_BYTES <= constants.BULK_MAX_BYTES
    assert constants.BODY_MAX_BYTES < constants.PAGE_BUDGET_BYTES
    assert constants.DELETE_BATCH <= constants.BULK_MAX_JOBS
    assert constants.DELETE_BATCH <= constants.PAGE_MAX
    assert constants.WAITING_MARK_MS >= 2 * constants.FALLBACK_POLL_S * 1000, "a mark must outlive a late poll"
    assert constants.CONSUMER_MAX_BYTES < 256, "its length is one byte in the run"
    assert constants.ERROR_MAX_BYTES < 65_536, "its length is two bytes in the run"


def test_a_call_stays_within_what_lua_can_unpack() -> None:
    """Lua's stack takes 8,000 values; a publish or a consume passes two for each job."""
    batches = (constants.BULK_MAX_JOBS, constants.CONSUME_MAX_COUNT, constants.PROMOTE_BATCH, constants.PURGE_BATCH)
    assert 2 * max(*batches, constants.DELETE_BATCH) < 7_900
