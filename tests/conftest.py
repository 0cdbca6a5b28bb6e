"""Fixtures of all tests: one private Redis per process, emptied before each test; and which tests share a process."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_django
import redis
from django.db import connection, connections
from django.utils import translation
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from queues.embedded import APPENDFSYNC_VARIABLE, EmbeddedRedis

# Tests that kill a Redis say what it may lose, which with `everysec` depends on how busy the disk is.
os.environ[APPENDFSYNC_VARIABLE] = "no"

# How long an example takes says how busy the machine is.
settings.register_profile("taskq", deadline=None)
settings.load_profile("taskq")

SHARING = {"tests/browser/": "browser", "tests/reports/": "reports"}
"""Folders whose modules share what takes seconds to start: a service and a browser; a Spark."""

CLUSTERS = tuple(f"tests/reports/test_{name}.py" for name in ("cluster", "connect", "stores"))
"""Spark clusters, and stores that are downloaded: minutes of their own."""

THOROUGH_VARIABLE = "TASKQ_TEST_CLUSTERS"
"""Set by `make test-clusters`, which CI runs: it has the time for these, and for more examples."""

ALONE = (
    *(f"tests/reports/test_{name}.py" for name in ("cluster", "command", "connect", "masters", "stores")),
    "tests/browser/test_incident_outages.py",
)
"""What uses none of it, or has a service of its own, so that another process may run it."""

LONGEST = (
    *("tests/browser/", "tests/reports/", "tests/test_postgresql.py", "tests/running/", "tests/http/"),
    "tests/sdk/",
)

PROCESSES_OF_ENGINE = (
    *("cluster_trouble", "demoted_master", "error_codes", "lost_connections", "paused_redis", "replication"),
    *("store_load", "topologies", "unreachable", "waiting_through_a_restart"),
)
PROCESSES_OF_HTTP = (
    *("answers_not_taken", "failovers", "fast_path", "isolation", "logged_paths", "long_polls", "memory_budget"),
    *(
        "fast_path_and_django",
        "first_snippets",
        "metrics",
        "metrics_workers",
        "outages",
        "presence",
        "refunds",
        "sign_ins",
    ),
    *("staff_permissions", "sync_call"),
)
PROCESSES = (
    *("tests/running/", "tests/browser/", "tests/reports/", "tests/bench/", "tests/package/test_wheel.py"),
    *("tests/push/test_runpusher.py", "tests/test_postgresql.py", "tests/engine/workflows/test_killed_makers.py"),
    *(f"tests/sdk/test_{name}.py" for name in ("command_line", "http_broker", "outages", "schedules", "typing")),
    *("tests/sdk/django/test_page.py", "tests/sdk/django/test_runworker.py"),
    "tests/sdk/django/outbox/test_processes.py",
    "tests/sdk/django/outbox/test_http.py",
    "tests/dashboard/test_silent_redis.py",
    "tests/sdk/test_docs.py::test_every_snippet_",
    "tests/lake/test_reconciliation.py::test_sealed_files_that_executors_have_checked_",
    "tests/metadata/test_commands.py::test_a_process_starts_without_",
    *(f"tests/engine/test_{name}.py" for name in PROCESSES_OF_ENGINE),
    *(f"tests/http/test_{name}.py" for name in PROCESSES_OF_HTTP),
)
"""Tests that start servers or commands of their own, or stop and hang some."""

EXHAUSTIVE = (
    *("tests/dashboard/access/", "tests/engine/test_random_walk.py", "tests/engine/test_waiter_groups.py"),
    *("tests/engine/test_events.py::test_the_cap_", "tests/engine/test_expiry.py::test_whatever_happens_"),
    "tests/engine/test_dependencies_cut_off.py",
    "tests/engine/test_open_dependencies.py::test_wherever_the_connection_is_lost_",
    *("tests/lake/test_damage.py::test_of_400_flipped_bits_", "tests/lake/test_files.py::test_no_flipped_bit_"),
    "tests/lake/test_views.py::test_the_files_that_count_",
    *("tests/engine/workflows/test_cut_off.py", "tests/engine/workflows/test_walk.py"),
    *("tests/lake/test_lines.py", "tests/metadata/test_report_making.py", "tests/test_regular_expressions.py"),
)
"""Tests that go through every combination of something, or through very many of it."""


DATABASE_FIXTURES = frozenset({"db", "transactional_db", "django_db_setup"})

COLLECT_GARBAGE_AFTER = (20_000, 20, 50)
"""As rarely as this: a fortieth of the work of tests of pages was to look for garbage among what stays."""


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist's types are not followed
    """One process runs a module, or all that SHARING says."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        if path in ALONE:
            return path
        return next((name for folder, name in SHARING.items() if path.startswith(folder)), path)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without collecting garbage: they live to the end, and to go through them takes a second."""
    gc.disable()
    atexit.register(gc.unfreeze)  # else libraries that count what they leave behind say so
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(*COLLECT_GARBAGE_AFTER)


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make test-fast` leaves out, and what uses the database. The longest begin first, so that no process is
    left alone with them."""
    for item in items:
        if item.nodeid.startswith(CLUSTERS):
            item.add_marker(pytest.mark.thorough)
        if item.get_closest_marker("thorough") and not os.environ.get(THOROUGH_VARIABLE):
            item.add_marker(pytest.mark.skip(reason="run by `make test-clusters`"))
        if DATABASE_FIXTURES.intersection(getattr(item, "fixturenames", ())) or item.get_closest_marker("django_db"):
            item.add_marker(pytest.mark.database)
        if item.nodeid.startswith(PROCESSES):
            item.add_marker(pytest.mark.processes)
        elif item.nodeid.startswith(EXHAUSTIVE):
            item.add_marker(pytest.mark.exhaustive)
    items.sort(key=lambda item: [not item.nodeid.startswith(start) for start in LONGEST])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown() -> None:
    """Uses of tokens are written beside the calls: while the test may still use the database."""
    for thread in threading.enumerate():
        if thread.name == "taskq-last-use":
            thread.join(timeout=10)


def _not_needed() -> None:
    """Takes the place of a fixture that pytest-django has for each test, of which no test here has a use."""


_django_clear_site_cache = pytest.fixture(scope="session")(_not_needed)
_django_isolate_apps = pytest.fixture(scope="session")(_not_needed)
_live_server_helper = pytest.fixture(scope="session")(_not_needed)
_template_string_if_invalid_marker = pytest.fixture(scope="session")(_not_needed)


@pytest.fixture(scope="session")
def django_db_keepdb(
    django_db_keepdb: bool,
    django_db_modify_db_settings: None,
    django_db_blocker: pytest_django.DjangoDbBlocker,
) -> bool:
    """Whether the database is there already: a file is, a copy of the one that was migrated for all processes."""
    from tests.support.database import copy_migrated

    if connection.vendor != "sqlite":
        return django_db_keepdb
    with django_db_blocker.unblock():
        copy_migrated(Path(connection.settings_dict["TEST"]["NAME"]))
    return True


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[None]:
    """The migrated database, to which tests that commit return."""
    from tests.support.database import restored_after_commits

    with contextlib.ExitStack() as stack:
        with django_db_blocker.unblock():
            stack.enter_context(restored_after_commits())
        yield


@pytest.fixture(scope="session")
def redis_server() -> Iterator[EmbeddedRedis]:
    """A real Redis on a unix socket, the one that REDIS_URL names in tests."""
    from tests.settings import TEST_REDIS

    with TEST_REDIS as server:
        yield server


@pytest.fixture(scope="session")
def redis_url(redis_server: EmbeddedRedis) -> str:
    """Where it is."""
    return redis_server.url


@pytest.fixture(scope="session")
def redis_client(redis_url: str) -> Iterator[redis.Redis]:
    """A bare client, for looking at what taskq wrote."""
    with redis.Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture(autouse=True)
def clean_slate(redis_client: redis.Redis) -> Iterator[None]:
    """Nothing of the test before: neither in Redis nor in the memory of this process, nor an open database, nor its
    language."""
    from queues.pools.ttl_cache import forget_everything, forget_recent

    translation.deactivate()  # LocaleMiddleware activates a request's language, and leaves it active in the thread
    with redis_client.pipeline(transaction=False) as both:
        both.flushall()
        both.config_resetstat()
        both.execute()
    for used in connections.all(initialized_only=True):
        if not used.in_atomic_block:  # this test's own
            used.close()  # code that lets go of old connections would use it, in tests that may not
    forget_everything()
    forget_recent()
    yield
    forget_everything()
