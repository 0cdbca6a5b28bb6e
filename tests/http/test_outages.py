"""Redis away, Redis full, the database away."""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import redis

from queues.api.logs import REREAD_S
from queues.embedded import EmbeddedRedis
from tests.http.client import Client, Reply
from tests.http.service import Server, Site
from tests.http.test_answers_not_taken import RawConsumer
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def own_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedRedis]:
    with EmbeddedRedis(tmp_path_factory.mktemp("own") / "redis", persistent=True) as server:
        yield server


@pytest.fixture(scope="module")
def own_server(own_redis: EmbeddedRedis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose Redis may be stopped and filled."""
    directory: Path = tmp_path_factory.mktemp("outages")
    site = Site(data_dir=directory, redis_url=own_redis.url)
    site.prepare()
    with site.serve() as server:
        server.wait_for_pages()
        yield server


def test_without_redis_clients_are_told_to_come_back(own_server: Server, own_redis: EmbeddedRedis, queue: str) -> None:
    client = own_server.client
    job_id = client.publish(queue)
    own_redis.stop()
    try:
        replies = [
            client.call(method, f"/api/{{ns}}/{queue}{rest}")
            for method, rest in (("PUT", ""), ("GET", ""), ("GET", "/size"), ("DELETE", f"/job/{job_id}"))
        ]
        waiting = client.call("GET", f"/api/{{ns}}/{queue}?timeout=3")
        # The answer of a check is kept for a second: this may still be the one before.
        wait_until(lambda: client.call("GET", "/readyz").status == 503, or_fail="ready without Redis")
        ready, alive = client.call("GET", "/readyz"), client.call("GET", "/healthz")
        metrics = own_server.staff.call("GET", "/metrics")
    finally:
        own_redis.start()

    for reply in [*replies, waiting]:
        assert (reply.status, reply.json) == (503, {"error": "store unavailable"})
        assert reply.headers["retry-after"] == "1"
        assert reply.headers["x-request-id"]
    assert (ready.status, ready.json) == (503, {"error": "not ready: redis"})
    assert alive.status == 200
    assert b'taskq_redis_up{pool="default"} 0' in metrics.body
    wait_until(lambda: client.call("GET", "/readyz").status == 200, or_fail="not ready again")
    assert client.take(queue)["job_id"] == job_id


def test_a_synchronous_call_whose_redis_goes_away_still_tells_the_job_s_id(
    own_server: Server, own_redis: EmbeddedRedis, queue: str
) -> None:
    client = own_server.client
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(client.call, "PUT", f"/api/{{ns}}/{queue}?wait=20", b"job")
        wait_until(lambda: client.call("GET", f"/api/{{ns}}/{queue}/size").json["size"] == 1, or_fail="not published")
        own_redis.stop()
        try:
            reply = waiting.result(30)
        finally:
            own_redis.start()
    wait_until(lambda: client.call("GET", "/readyz").status == 200, or_fail="not ready again")

    assert (reply.status, reply.json["msg"], reply.json["state"]) == (202, "published", None)
    assert client.take(queue)["job_id"] == reply.json["job_id"]


def test_a_full_redis_refuses_publishes_and_goes_on_handing_out(
    own_server: Server, own_redis: EmbeddedRedis, queue: str
) -> None:
    client = own_server.client
    for _ in range(3):
        client.publish(queue, b"x" * 1000)
    with redis.Redis.from_url(own_redis.url) as admin:
        admin.config_set("maxmemory-policy", "noeviction")
        admin.config_set("maxmemory", "1")
        try:
            refused = [
                client.call("PUT", f"/api/{{ns}}/{queue}", b"x"),
                client.call("PUT", f"/api/{{ns}}/{queue}/bulk", b"[1]"),
            ]
            taken = client.take(queue)
            acked = client.call("DELETE", f"/api/{{ns}}/{queue}/job/{taken['job_id']}?attempt=1")
            size = client.call("GET", f"/api/{{ns}}/{queue}/size").json["size"]
        finally:
            admin.config_set("maxmemory", "0")

    assert [(reply.status, reply.json) for reply in refused] == [(507, {"error": "store full"})] * 2
    assert acked.status == 204
    assert size == 2
    client.publish(queue)


@pytest.mark.parametrize(
    ("refuse", "accept"),
    [
        (("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE")),
        (("CONFIG", "SET", "min-replicas-to-write", "1"), ("CONFIG", "SET", "min-replicas-to-write", "0")),
        (("BGSAVE",), ("CONFIG", "SET", "save", "")),
    ],
    ids=["replica", "no replicas", "a disk that takes nothing"],
)
def test_readiness_says_what_a_publish_says_and_the_log_says_it_once(
    own_server: Server, own_redis: EmbeddedRedis, queue: str, refuse: tuple[str, ...], accept: tuple[str, ...]
) -> None:
    client = own_server.client
    client.publish(queue)
    logged = len(_refusals(own_server))
    with redis.Redis.from_url(own_redis.url) as admin:
        if refuse == ("BGSAVE",):
            (own_redis.data_dir / "dump.rdb").mkdir()  # where the snapshot would have to go
            admin.config_set("save", "1000 1")
        admin.execute_command(*refuse)
        try:
            wait_until(lambda: client.call("GET", "/readyz").status == 503, or_fail="ready, and takes no writes")
            replies = [client.call("PUT", f"/api/{{ns}}/{queue}") for _ in range(50)]
            ready = client.call("GET", "/readyz?pool=default")
        finally:
            admin.execute_command(*accept)

    assert {reply.status for reply in replies} == {503}
    assert (ready.status, ready.json) == (503, {"error": "not ready: redis"})
    (line,) = _refusals(own_server)[logged:]
    assert (line["error"], line["pool"]) == ("store_unavailable", "default")
    assert line["cause"] in ("READONLY", "NOREPLICAS", "MISCONF")
    wait_until(lambda: client.call("GET", "/readyz").status == 200, or_fail="not ready again")
    client.publish(queue)


def _refusals(server: Server) -> list[dict[str, Any]]:
    lines = [line for line in server.log_lines() if line.get("action") == "http.refuse" and line["status"] == 503]
    return [line for line in lines if "outage" not in line]


def test_a_consumer_that_hung_up_while_redis_was_paused_leaves_its_job(
    own_server: Server, own_redis: EmbeddedRedis, queue: str
) -> None:
    client = own_server.client
    job_id = client.publish(queue, tries=1)
    assert client.call("GET", f"/api/{{ns}}/{queue}-none").status == 404  # the script is known
    assert own_redis.pid is not None
    os.kill(own_redis.pid, signal.SIGSTOP)
    try:
        consumers = [RawConsumer(client) for _ in range(3)]
        for consumer in consumers:
            consumer.ask(queue)
        assert client.call("GET", "/healthz").status == 200  # so the worker has read what came before
        for consumer in consumers:
            consumer.socket.close()
        assert client.call("GET", "/healthz").status == 200
    finally:
        os.kill(own_redis.pid, signal.SIGCONT)

    wait_until(lambda: client.call("GET", f"/api/{{ns}}/{queue}/size").json["size"] == 1, or_fail="nobody has the job")
    taken = client.take(queue)
    assert (taken["job_id"], taken["remain_tries"]) == (job_id, 0)
    assert taken["attempt"] > 1, "nothing was carried out after the pause"


def test_a_full_redis_is_ready_for_consuming_goes_on(own_server: Server, own_redis: EmbeddedRedis, queue: str) -> None:
    client = own_server.client
    client.publish(queue)  # a Redis that was never used has no pool yet, and a full one takes none
    with redis.Redis.from_url(own_redis.url) as admin:
        admin.config_set("maxmemory-policy", "noeviction")
        admin.config_set("maxmemory", "1")
        try:
            admin.delete("{tq0}:probe")
            seen: list[tuple[int, bytes]] = []

            def says_so() -> bool:
                ready = client.call("GET", "/readyz")
                seen.append((ready.status, ready.body))
                return bool(ready.json.get("publish") == "store_full")

            wait_until(says_so, or_fail="does not say that publishes are refused")
            # The answer for consumers may be one that was kept from before: a second later they are tried for again.
            wait_until(lambda: says_so() and admin.exists("{tq0}:probe"), or_fail="what consumers write is not tried")
        finally:
            admin.config_set("maxmemory", "0")
    assert {status for status, _ in seen} == {200}
    wait_until(lambda: client.call("GET", "/readyz").json == {"status": "ready"}, or_fail="goes on saying so")


def test_asking_for_readiness_often_costs_redis_no_more_than_once_a_second(
    own_server: Server, own_redis: EmbeddedRedis
) -> None:
    client = own_server.client
    # A Redis that has just been started does not know the script: that attempt to call it would be counted, too.
    assert client.call("GET", "/readyz").status == 200
    with redis.Redis.from_url(own_redis.url) as admin, admin.monitor() as monitor:
        began = asked = time.monotonic()
        while asked < began + 1.5:  # an answer is kept for a second
            asked = time.monotonic()
            assert client.call("GET", "/readyz").status == 200
            time.sleep(0.01)
        lasted_s = time.monotonic() - began
        admin.echo("end")
        commands = (one["command"] for one in monitor.listen())
        sent = itertools.takewhile(lambda command: command != "ECHO end", commands)
        # The server calls other scripts meanwhile, which have nothing to do with readiness.
        probes = sum(command.startswith("EVALSHA ") and "{tq0}:probe" in command for command in sent)
    assert 2 <= probes <= 2 * (lasted_s + 1)  # one as a consume, one as a publish
    assert client.call("GET", "/readyz?pool=nowhere").status == 404


def test_without_the_database_known_tokens_go_on_working(own_server: Server, queue: str) -> None:
    client = own_server.client
    client.publish(queue)
    database = own_server.site.data_dir / "taskq.sqlite3"
    hidden = database.rename(database.with_suffix(".hidden"))
    database.mkdir()  # a directory cannot be opened as a database, nor made into one
    try:
        wait_until(lambda: _is_noticed(client), or_fail="the outage goes unnoticed")
        published = client.call("PUT", f"/api/{{ns}}/{queue}")
        unknown = client.call("PUT", f"/api/{{ns}}/{queue}", headers={"X-Token": "x" * 20})
        admin = own_server.staff.call("GET", "/pools")
    finally:
        database.rmdir()
        hidden.rename(database)

    assert published.status == 201
    for reply in (unknown, admin):
        _check_unavailable(reply)
    wait_until(lambda: client.call("GET", "/readyz").status == 200, or_fail="not ready again")


def test_no_request_waits_for_the_switch_of_the_access_log(own_server: Server, own_redis: EmbeddedRedis) -> None:
    """It is in the Redis of the default pool, which is no business of requests to other pools."""
    assert own_redis.pid is not None
    os.kill(own_redis.pid, signal.SIGSTOP)
    try:
        slowest, until = 0.0, time.monotonic() + 1.25 * REREAD_S
        while time.monotonic() < until:
            started = time.monotonic()
            assert own_server.client.call("GET", "/healthz").status == 200
            slowest = max(slowest, time.monotonic() - started)
    finally:
        os.kill(own_redis.pid, signal.SIGCONT)

    assert slowest < 1.0


def _is_noticed(client: Client) -> bool:
    return bool(client.call("GET", "/readyz").json == {"error": "not ready: database"})


def _check_unavailable(reply: Reply) -> None:
    assert (reply.status, reply.json) == (503, {"error": "metadata unavailable"})
    assert reply.headers["retry-after"] == "1"
