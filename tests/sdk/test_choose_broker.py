"""Which broker a URL means."""

from __future__ import annotations

import pytest

from taskq.brokers.choose import open_broker
from taskq.brokers.redis import RedisBroker
from taskq.errors import NotConfiguredError


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("rediss://user:secret@redis.example.com:6380/2", "rediss://user:***@redis.example.com:6380/2"),
        ("unix:///run/redis.sock?db=1", "unix:///run/redis.sock?db=1"),
    ],
)
def test_a_url_of_redis_is_taken_and_its_password_never_shown(url: str, shown: str) -> None:
    broker = open_broker(url, namespace="shop", token=None)

    assert isinstance(broker, RedisBroker)
    assert (broker.url, broker.namespace) == (shown, "shop")
    broker.close()


@pytest.mark.parametrize("url", ["redis.example.com:6379", "amqp://localhost", "rediss://"])
def test_what_is_no_url_of_taskq_is_refused(url: str) -> None:
    with pytest.raises(NotConfiguredError, match="set TASKQ_URL"):
        open_broker(url, namespace=None, token=None)
