"""Fixtures of all tests: one private Redis per run, emptied before each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from queues.embedded import EmbeddedRedis


@pytest.fixture(scope="session")
def redis_server() -> Iterator[EmbeddedRedis]:
    """A real redis-server on a unix socket, the one that REDIS_URL names in tests."""
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
