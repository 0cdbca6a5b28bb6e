"""The fast path itself: it does without Django, keeps HTTP's rules, and loses nothing when clients leave."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import pytest
from django.core.handlers.asgi import ASGIHandler
from django.core.signals import request_started

from queues.api.asgi import ApiMiddleware
from queues.api.context import CONTEXT
from queues.api.fast_path import FastPath
from queues.api.routes import ROUTER
from queues.engine import open_engine, reclaim_ended
from queues.pools import close_async_engines
from queues.server.server import STOP_TIMEOUT_S
from queues.services.tokens.managing import create_token
from tests.http.service import Server, Site
from tests.http.test_long_polls import waiting_on
from tests.http.two_servers_connection import Answer, Wire, request
from tests.support.loops import run_async
from tests.support.waiting import wait_until

MIB = 1024 * 1024
ROUNDS = 60
WAITERS = 200
PUBLISHES = 20


@pytest.fixture
def wire(server: Server) -> Iterator[Wire]:
    with Wire(server.url) as wire:
        yield wire


def ask(server: Server, line: str, *headers: tuple[str, str], **options: Any) -> bytes:
    """A request with the token of the namespace `demo`; `line`: `PUT QUEUE...`."""
    method, rest = line.split(" ")
    client = server.client
    path = f"{method} /api/{client.namespace}/{rest}"
    return request(path, ("Host", "x"), ("X-Token", client.token), *headers, **options)


def waiting(server: Server) -> int:
    """How many consumers the server knows to be waiting."""
    page = server.staff.call("GET", "/metrics").body.decode()
    found = re.search(r"^taskq_waiting_consumers ([0-9.]+)$", page, re.MULTILINE)
    assert found, page
    return int(float(found[1]))


def wait_for_waiters(server: Server, number: int) -> None:
    wait_until(lambda: waiting(server) == number, or_fail=f"not {number} waiters")


def size(server: Server, queue: str) -> int:
    found: int = server.client.call("GET", f"/api/{{ns}}/{queue}/size").json["size"]
    return found


@pytest.mark.django_db(transaction=True)
def test_nothing_of_django_s_request_cycle_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    token = create_token(namespace="demo", description="x").display
    started: list[object] = []

    def fail(*_: object) -> NoReturn:
        raise AssertionError("Django was asked")

    def note(sender: object, **_: object) -> None:
        started.append(sender)

    monkeypatch.setattr(ASGIHandler, "__call__", fail)
    request_started.connect(note)
    try:
        statuses = run_async(all_routes_of_the_fast_path(token))
    finally:
        request_started.disconnect(note)

    assert statuses == [201, 201, 200, 200, 200, 204, 400]
    assert started == []


async def all_routes_of_the_fast_path(token: str) -> list[int]:
    """The statuses of a job's life, and of a request that is refused."""
    statuses, job_id = [], ""
    try:
        for method, rest in (
            ("PUT", ""),
            ("PUT", "/bulk"),
            ("GET", ""),
            ("POST", "/job/ID/extend"),
            ("POST", "/job/ID/fail"),
            ("DELETE", "/job/ID"),
            ("GET", ".x"),
        ):
            status, body = await through_the_fast_path(method, "/api/demo/q" + rest.replace("ID", job_id), token)
            statuses.append(status)
            found = re.search(rb'"job_id":"(\w+)"', body)
            job_id = found[1].decode() if found else job_id
    finally:
        await close_async_engines()
    return statuses


async def through_the_fast_path(method: str, path: str, token: str) -> tuple[int, bytes]:
    """One request to the site's own application."""
    from taskq_site.asgi import _site

    application = ApiMiddleware(_site, fast_path=FastPath(ROUTER, CONTEXT))
    sent: list[dict[str, Any]] = []
    body = b"[1]" if path.endswith("bulk") else b""

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"x-token", token.encode()), (b"content-length", b"%d" % len(body))],
        "client": ("127.0.0.1", 1),
    }
    await application(scope, receive, send)
    return sent[0]["status"], b"".join(message["body"] for message in sent[1:])


HANGING_UP = [
    pytest.param(queues, count, id=f"{name}, count={count}")
    for name, queues in (("one queue", "{q}"), ("several queues", "{q}b,{q}"))
    for count in (1, 5)
]


@pytest.mark.parametrize(("queues", "count"), HANGING_UP)
def test_a_consumer_that_hung_up_takes_no_job_with_it(
    site: Site, server: Server, queue: str, queues: str, count: int
) -> None:
    """It waits and hangs up, and then somebody publishes, as soon as that can be."""
    with Wire(server.url) as other:
        for number in range(ROUNDS):
            name = f"{queue}-{number}"
            with Wire(server.url) as consumer:
                consumer.send(ask(server, f"GET {queues.replace('{q}', name)}?timeout=60&ttr=600&count={count}"))
                wait_until(waiting_on(site, name), or_fail="nobody waits")
            published = other.call(ask(server, f"PUT {name}", body=b"job"))

            taken = other.call(ask(server, f"GET {name}?timeout=2"))

            assert taken.status == 200, f"round {number}: the job is gone"
            assert (taken.json["job_id"], taken.json["attempt"]) == (published.json["job_id"], 1)
    wait_for_waiters(server, 0)


def reclaim(site: Site) -> None:
    engine = open_engine(site.redis_url)
    engine.run(reclaim_ended(engine.layout))
    engine.close()


@pytest.mark.parametrize(("queues", "count"), HANGING_UP)
def test_a_consumer_that_hangs_up_while_it_is_served_loses_nothing(
    site: Site, server: Server, queue: str, queues: str, count: int
) -> None:
    """Whether the answer was on its way nobody can know; then the job comes back when its lease ends."""
    with Wire(server.url) as other, Wire(server.url) as producer:
        for number in range(ROUNDS // 4):
            name = f"{queue}-{number}"
            with Wire(server.url) as consumer:
                consumer.send(ask(server, f"GET {queues.replace('{q}', name)}?timeout=60&ttr=1&count={count}"))
                wait_until(waiting_on(site, name), or_fail="nobody waits")
                producer.send(ask(server, f"PUT {name}?tries=2", body=b"job"))
            published = producer.receive()

            taken = other.call(ask(server, f"GET {name}?timeout=2"))
            if taken.status == 404:  # it was on its way; no reclaimer runs here but this one
                reclaim(site)
                taken = other.call(ask(server, f"GET {name}"))

            assert taken.status == 200, f"round {number}: the job is gone"
            assert taken.json["job_id"] == published.json["job_id"]
    wait_for_waiters(server, 0)


def test_many_consumers_that_hang_up_are_forgotten(server: Server, queue: str) -> None:
    consumers = [Wire(server.url) for _ in range(50)]
    for number, consumer in enumerate(consumers):
        consumer.send(ask(server, f"GET {queue},{queue}b?timeout=60&count={number % 3 + 1}"))
    wait_for_waiters(server, len(consumers))

    for consumer in consumers:
        consumer.hang_up()

    wait_for_waiters(server, 0)
    server.client.publish(queue)
    assert server.client.take(queue)["attempt"] == 1


def test_requests_on_one_connection_are_answered_in_turn(server: Server, wire: Wire, queue: str) -> None:
    for number in range(5):
        assert wire.call(ask(server, f"PUT {queue}", body=b"%d" % number)).status == 201

    bodies = [wire.call(ask(server, f"GET {queue}")).json["data"] for _ in range(5)]

    assert bodies == ["MA==", "MQ==", "Mg==", "Mw==", "NA=="]


def test_requests_may_be_sent_before_the_answers_are_read(server: Server, wire: Wire, queue: str) -> None:
    wire.send(
        ask(server, f"PUT {queue}", body=b"a")
        + ask(server, f"PUT {queue}?delay=x", body=b"b")
        + ask(server, f"PUT {queue}/bulk", body=b"[1]", chunk=2)
        + ask(server, f"GET {queue}?timeout=5")
        + ask(server, f"DELETE {queue}/job/x")
        + ask(server, f"GET {queue}?timeout=5")
        + ask(server, f"GET {queue}")
    )

    answers = [wire.receive() for _ in range(7)]

    assert [answer.status for answer in answers] == [201, 400, 201, 200, 204, 200, 404]
    assert [answers[3].json["data"], answers[5].json["data"]] == ["YQ==", "MQ=="]


@pytest.mark.parametrize("method", ["PUT", "GET"])
def test_http_1_0_gets_its_answer_and_the_end_of_the_connection(
    server: Server, wire: Wire, queue: str, method: str
) -> None:
    body = b"job" if method == "PUT" else None

    answer = wire.call(ask(server, f"{method} {queue}", body=body, version="1.0"))

    assert answer.status == (201 if method == "PUT" else 404)
    assert int(answer.header("content-length")) == len(answer.body)
    assert wire.is_closed()


def test_a_client_that_asks_first_is_told_to_send(server: Server, wire: Wire, queue: str) -> None:
    wire.send(ask(server, f"PUT {queue}", ("Expect", "100-continue"), ("Content-Length", str(MIB))))
    assert wire.receive_head() == 100

    wire.send(b"x" * MIB)

    assert wire.receive().status == 201


@pytest.mark.parametrize(
    ("line", "length", "status"),
    [("PUT {q}", MIB + 1, 413), ("PUT {q}?delay=x", MIB, 400), ("PUT {q}/bulk", 65 * MIB, 413), ("PUT q.x", MIB, 400)],
)
def test_a_client_that_asks_first_is_refused_before_it_sends(
    server: Server, wire: Wire, queue: str, line: str, length: int, status: int
) -> None:
    wire.send(ask(server, line.replace("{q}", queue), ("Expect", "100-continue"), ("Content-Length", str(length))))

    answer = wire.receive()

    assert (answer.status, answer.interim) == (status, ())


def test_a_body_that_is_announced_too_long_is_refused_and_not_read_to_its_end(
    server: Server, wire: Wire, queue: str
) -> None:
    wire.send(ask(server, f"PUT {queue}", ("Content-Length", str(1024 * MIB))))
    wire.send(b"x" * MIB)

    answer = wire.receive()

    assert (answer.status, answer.json) == (413, {"error": "body too large"})
    assert size(server, queue) == 0


def test_a_body_that_grows_too_long_is_refused(server: Server, wire: Wire, queue: str) -> None:
    answer = wire.call(ask(server, f"PUT {queue}", body=b"x" * (2 * MIB), chunk=65_536))

    assert (answer.status, answer.json) == (413, {"error": "body too large"})
    assert wire.call(ask(server, f"GET {queue}")).status == 404, "the connection goes on after the refused body"


def test_a_slow_body_keeps_nobody_waiting(server: Server, wire: Wire, queue: str) -> None:
    whole = ask(server, f"PUT {queue}", body=b"0123456789")
    wire.send(whole[:-10])
    for at in range(10, 0, -1):
        assert server.client.call("GET", f"/api/{{ns}}/{queue}").status == 404
        wire.send(whole[len(whole) - at : len(whole) - at + 1])

    assert wire.receive().status == 201
    assert server.client.take(queue)["data"] == "MDEyMzQ1Njc4OQ=="


@pytest.mark.parametrize(
    "sent_with_it", ["Content-Length: 10\r\n\r\n01234", "Transfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n"]
)
@pytest.mark.parametrize("rest", ["", "/bulk"])
def test_who_leaves_in_the_middle_of_a_body_publishes_nothing(
    server: Server, queue: str, rest: str, sent_with_it: str
) -> None:
    request_id = f"left-{queue}"
    head = ask(server, f"PUT {queue}{rest}", ("X-Request-ID", request_id))
    with Wire(server.url) as wire:
        wire.send(head[:-2] + sent_with_it.encode())

    wait_until(
        lambda: [line for line in server.log_lines() if line.get("request_id") == request_id],
        or_fail="nobody noticed",
    )
    assert size(server, queue) == 0


def test_a_graceful_stop_answers_who_waits_and_finishes_what_is_under_way(
    site: Site, server: Server, queue: str
) -> None:
    with site.serve() as stopping:
        waiters = [Wire(stopping.url) for _ in range(WAITERS)]
        for waiter in waiters:
            waiter.send(ask(stopping, f"GET {queue}x?timeout=600"))
        publishers = [Wire(stopping.url) for _ in range(PUBLISHES)]
        publish = ask(stopping, f"PUT {queue}", body=b"job")
        for publisher in publishers:
            publisher.send(publish[:-1])
        wait_for_waiters(stopping, WAITERS)

        began = time.monotonic()
        stopping.process.send_signal(signal.SIGTERM)
        goodbyes = receive_all(waiters)
        said_goodbye_s = time.monotonic() - began
        for publisher in publishers:
            publisher.send(publish[-1:])
        published = receive_all(publishers)
        status = stopping.process.wait(10)

    assert [(answer.status, answer.json) for answer in goodbyes] == [(404, {"msg": "no job available"})] * WAITERS
    assert said_goodbye_s < STOP_TIMEOUT_S / 2, "they are answered at once, not when the time for a stop is over"
    assert [answer.status for answer in published] == [201] * PUBLISHES
    assert status == 0
    assert size(server, queue) == PUBLISHES


def receive_all(wires: list[Wire]) -> list[Answer]:
    with ThreadPoolExecutor(8) as threads:
        return list(threads.map(Wire.receive, wires))
