"""Consumers that wait: woken at once, by turns, without taking a job away when they leave."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import redis

from queues.embedded import EmbeddedRedis
from tests.http.client import Client, Reply
from tests.http.service import Server, Site
from tests.support.waiting import wait_until

MANY = 300


def waiting_on(site: Site, queue: str) -> Callable[[], bool]:
    """Whether somebody waits on the queue: waiters leave a mark with its end, and put the end off every second."""

    def look() -> bool:
        with redis.Redis.from_url(site.redis_url) as observer:
            seconds, microseconds = observer.time()
            return any(
                member.endswith(f"/{queue}".encode())
                for key in observer.scan_iter(match="*:waiting")
                for member in observer.zrangebyscore(key, seconds * 1000 + microseconds // 1000, "+inf")
            )

    return look


def waiting_in(server: Server) -> int:
    """Consumers that wait in a server, by its own count; 0 while it has not counted."""
    found = re.search(rb"^taskq_waiting_consumers (\d+)", server.staff.call("GET", "/metrics").body, re.MULTILINE)
    return int(found[1]) if found else 0


def in_background(client: Client, path: str) -> Future[Reply]:
    future: Future[Reply] = Future()
    threading.Thread(target=lambda: future.set_result(client.call("GET", path)), daemon=True).start()
    return future


def test_a_waiting_consumer_gets_what_is_published(site: Site, client: Client, queue: str) -> None:
    waiter = in_background(client, f"/api/{{ns}}/{queue}?timeout=20")
    wait_until(waiting_on(site, queue), or_fail="nobody waits")
    published_at = time.monotonic()

    job_id = client.publish(queue)

    assert waiter.result(10).json["job_id"] == job_id
    assert time.monotonic() - published_at < 0.5, "not woken but found by the slow poll"


def test_a_waiting_consumer_gets_a_delayed_job_when_it_is_due(site: Site, client: Client, queue: str) -> None:
    waiter = in_background(client, f"/api/{{ns}}/{queue}?timeout=20")
    wait_until(waiting_on(site, queue), or_fail="nobody waits")

    client.publish(queue, delay=1.3)

    assert 1300 <= waiter.result(10).json["elapsed_ms"] < 1600


def test_a_consumer_of_several_queues_is_woken_by_the_last(site: Site, client: Client, queue: str) -> None:
    waiter = in_background(client, f"/api/{{ns}}/{queue}a,{queue}b?timeout=20")
    wait_until(waiting_on(site, f"{queue}b"), or_fail="nobody waits")

    client.publish(f"{queue}b")

    assert waiter.result(10).json["queue"] == f"{queue}b"


def test_the_first_of_several_queues_is_emptied_first(client: Client, queue: str) -> None:
    client.publish(f"{queue}low", b"low")
    client.publish(f"{queue}high", b"high")
    client.publish(f"{queue}high", b"high")

    order = [client.take(f"{queue}high,{queue}low")["queue"] for _ in range(3)]

    assert order == [f"{queue}high", f"{queue}high", f"{queue}low"]


def test_a_timeout_is_kept(client: Client, queue: str) -> None:
    started = time.monotonic()

    reply = client.call("GET", f"/api/{{ns}}/{queue}?timeout=1")

    assert reply.status == 404
    assert 1.0 <= time.monotonic() - started < 2.0


def test_hundreds_of_waiters_do_not_block_each_other(site: Site, client: Client, queue: str) -> None:
    with ThreadPoolExecutor(MANY) as threads:
        waiters = [threads.submit(client.call, "GET", f"/api/{{ns}}/{queue}?timeout=25") for _ in range(MANY)]
        wait_until(waiting_on(site, queue), or_fail="nobody waits")
        started = time.monotonic()
        assert client.call("GET", "/healthz").status == 200
        assert time.monotonic() - started < 2.0
        bodies = "[" + ",".join(str(n) for n in range(MANY)) + "]"
        assert client.call("PUT", f"/api/{{ns}}/{queue}/bulk", bodies).status == 201

        replies = [waiter.result(25) for waiter in waiters]

    assert {reply.status for reply in replies} == {200}
    assert len({reply.json["job_id"] for reply in replies}) == MANY


LEAVERS = {
    "no body": "\r\n",
    "announced": "Content-Length: 2\r\n\r\n",
    "sent": "Content-Length: 2\r\n\r\nhi",
    "chunks to come": "Transfer-Encoding: chunked\r\n\r\n",
    "chunks": "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
}
"""What consumers that will leave send after their headers."""


def test_a_consumer_that_leaves_takes_no_job_with_it_whatever_body_it_sent(
    site: Site, client: Client, queue: str
) -> None:
    """All disconnect at once, because a consumer is listed as waiting for some seconds after it has gone."""
    parts = urlsplit(client.url)
    queues = {name: f"{queue}-{number}" for number, name in enumerate(LEAVERS)}
    with ExitStack() as connections:
        for name, sent in LEAVERS.items():
            connection = connections.enter_context(socket.create_connection((parts.hostname, parts.port)))
            head = (
                f"GET /api/{client.namespace}/{queues[name]}?timeout=60 HTTP/1.1\r\nHost: x\r\nX-Token: {client.token}"
            )
            connection.sendall(f"{head}\r\n{sent}".encode())
        for name in LEAVERS:
            wait_until(waiting_on(site, queues[name]), or_fail=f"nobody waits: {name}")
    for name in LEAVERS:
        wait_until(lambda name=name: not waiting_on(site, queues[name])(), or_fail=f"still waiting: {name}")  # type: ignore[misc]

    for name in LEAVERS:
        job_id = client.publish(queues[name])
        taken = client.take(queues[name])
        assert (taken["job_id"], taken["attempt"]) == (job_id, 1), name


def test_a_consumer_whose_token_is_revoked_is_sent_away_without_a_job(
    site: Site, server: Server, client: Client, queue: str
) -> None:
    namespace = f"revoked-{queue}"
    kept = Client(url=server.url, namespace=namespace, token=server.new_token(namespace))
    revoked = Client(url=server.url, namespace=namespace, token=server.new_token(namespace))
    job_id = kept.publish("done", retention=60)
    polls = [in_background(revoked, f"/api/{{ns}}/{queue}?timeout=60") for _ in range(20)]
    polls.append(in_background(revoked, f"/api/{{ns}}/done/job/{job_id}/result?timeout=60"))
    staying = in_background(kept, "/api/{ns}/other?timeout=20")
    wait_until(waiting_on(site, queue), or_fail="nobody waits")
    wait_until(waiting_on(site, "other"), or_fail="nobody waits")

    assert server.staff.call("DELETE", f"/token/{namespace}/{revoked.token}").status == 204

    revoked_at = time.monotonic()
    replies = [poll.result(4) for poll in polls]
    assert time.monotonic() - revoked_at < 0.5, "not told of it but found out by asking"
    assert {(reply.status, reply.json["error"]) for reply in replies} == {(401, "invalid token")}
    first = kept.publish(queue)
    taken = kept.take(queue)
    assert (taken["job_id"], taken["attempt"]) == (first, 1)
    kept.publish("other")
    assert staying.result(10).status == 200


def test_waiters_are_sent_away_by_a_revocation_that_another_process_made(
    site: Site, server: Server, queue: str
) -> None:
    namespace = f"elsewhere-{queue}"
    revoked = Client(url=server.url, namespace=namespace, token=server.new_token(namespace))
    poll = in_background(revoked, f"/api/{{ns}}/{queue}?timeout=60")
    wait_until(waiting_on(site, queue), or_fail="nobody waits")

    site.manage("token", "revoke", namespace, revoked.token)

    assert poll.result(2).status == 401
    assert revoked.call("GET", f"/api/{{ns}}/{queue}").status == 401


def test_waiters_cost_one_connection_for_all_and_few_for_commands(tmp_path: Path, queue: str) -> None:
    with EmbeddedRedis(tmp_path / "redis", persistent=False) as redis_server:
        site = Site(data_dir=tmp_path, redis_url=redis_server.url)
        site.prepare()
        with site.serve() as server, redis.Redis.from_url(redis_server.url) as observer:
            polls = [in_background(server.client, f"/api/{{ns}}/{queue}?timeout=60") for _ in range(200)]
            wait_until(lambda: len(polls) == waiting_in(server), or_fail="not all of them wait")
            own = {observer.client_id()}

            def connections() -> list[dict[str, str]]:
                return [one for one in observer.client_list() if int(one["id"]) not in own]

            # Of the worker, and of the pages process, which was asked for metrics and counts sign-ins in the cache.
            wait_until(lambda: len(connections()) <= 2 * 3 + 1, or_fail=f"too many connections: {connections()}")
            assert sum(int(one["sub"]) > 0 for one in connections()) <= 2
            started = time.monotonic()
            assert server.stop() == 0
            assert {poll.result(5).status for poll in polls} == {404}
            assert time.monotonic() - started < 10.0


def test_a_result_is_waited_for(client: Client, queue: str) -> None:
    job_id = client.publish(queue, retention=60)
    client.take(queue)
    waiter = in_background(client, f"/api/{{ns}}/{queue}/job/{job_id}/result?timeout=20")

    client.call("DELETE", f"/api/{{ns}}/{queue}/job/{job_id}", b"42")

    assert waiter.result(10).body == b"42"


def test_the_consumer_is_remembered_by_the_name_it_gives(server: Server, client: Client, queue: str) -> None:
    job_id = client.publish(queue)
    client.call("GET", f"/api/{{ns}}/{queue}", headers={"X-Consumer": "worker-7"})

    assert client.call("GET", f"/api/{{ns}}/{queue}/job/{job_id}/detail").json["consumer"] == "worker-7"
