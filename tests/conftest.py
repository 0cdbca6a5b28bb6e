"""Fixtures of all tests: one private Redis per process, emptied before each test; and which tests share a process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import redis
from xdist.scheduler import LoadScopeScheduling

from queues.embedded import EmbeddedRedis

SHARING = {"tests/browser/": "browser"}
"""Folders whose modules share what takes seconds to start: a service and a browser."""

LONGEST = ("tests/browser/", "tests/reports/", "tests/metadata/test_postgresql.py", "tests/running/", "tests/http/")


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist's types are not followed
    """One process runs a module, or all that SHARING says."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return next((name for folder, name in SHARING.items() if path.startswith(folder)), path)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    config.option.loadscopereorder = False
    return Scheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest are begun first, so that no process is left alone with them."""
    items.sort(key=lambda item: [not item.nodeid.startswith(start) for start in LONGEST])


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
    """Nothing of the test before: neither in Redis nor in the memory of this process."""
    from queues.pools.remembered import forget_everything
    from queues.services.recent import forget_recent

    redis_client.flushall()
    redis_client.config_resetstat()
    forget_everything()
    forget_recent()
    yield
    forget_everything()
