"""Django's cache and sessions, on the same Redis as the jobs."""

from __future__ import annotations

import logging

import pytest
import redis
from django.contrib.auth.models import User
from django.core.cache import cache, caches
from django.test import Client

from queues.engine import publish, size
from queues.engine.transport.failures import OutageLog
from queues.pools import close_engines, engine_for
from taskq_site.cache import CacheConnections
from tests.support.waiting import wait_until


@pytest.mark.django_db
def test_clearing_the_cache_leaves_the_jobs(redis_client: redis.Redis) -> None:
    close_engines()
    engine = engine_for("default")
    queue = engine.queue("orders", "close")
    engine.run(publish(queue, [b"job"]))
    before = set(redis_client.keys())
    cache.set_many({f"key{number}": number for number in range(1_100)})
    assert len(redis_client.keys()) == len(before) + 1_100
    cache.clear()
    assert set(redis_client.keys()) == before
    assert engine.run(size(queue)) == 1


def test_the_cache_keeps_to_its_prefix_and_one_cluster_slot(redis_client: redis.Redis) -> None:
    cache.set_many({"a": 1, "b": [2, "x"]})
    assert cache.get_many(["a", "b", "c"]) == {"a": 1, "b": [2, "x"]}
    keys = redis_client.keys()
    assert len(keys) == 2
    assert all(str(key).startswith("b'{taskq-cache}:") for key in keys)


@pytest.mark.django_db
def test_sessions_are_read_from_redis(
    redis_client: redis.Redis, django_assert_num_queries: pytest.FixtureRequest
) -> None:
    browser = Client()
    browser.force_login(User.objects.create_user("alice"))
    assert any(b"cached_db" in key for key in redis_client.scan_iter())
    with django_assert_num_queries(0):  # type: ignore[operator]
        assert browser.session["_auth_user_id"]


@pytest.mark.django_db
def test_staff_stays_logged_in_while_redis_is_away(
    admin: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    gone = CacheConnections({}).connect("unix:///nonexistent/redis.sock")
    monkeypatch.setattr(caches["default"].client, "_clients", [gone])  # type: ignore[attr-defined]
    outages = OutageLog(logging.getLogger("taskq_site.cache"))
    monkeypatch.setattr("taskq_site.cache.outages", outages)
    for _ in range(2):
        response = admin.get("/admin/")
        assert response.status_code == 200
        assert "root" in response.text
    outages.flush()
    said = [record for record in caplog.records if record.name == "taskq_site.cache"]
    assert [record.getMessage() for record in said] == ["cache does not answer", "outage goes on as the process ends"]
    assert all(record.exc_info is None for record in said), "a line each"
    assert vars(said[1])["failures"] >= 2


def test_what_the_cache_does_not_use_it_does_not_hold(redis_client: redis.Redis) -> None:
    cache.set("a", 1)
    held = len(redis_client.client_list())
    cache.client.close_idle_connections()  # type: ignore[attr-defined]
    wait_until(lambda: len(redis_client.client_list()) < held, or_fail="the connection stays open")
    assert cache.get("a") == 1
