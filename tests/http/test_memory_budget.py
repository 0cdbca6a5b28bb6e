"""Large bodies and answers count against the memory of a web process: who takes too much is refused, others are not."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from queues.api.context import CONTEXT, ApiContext
from queues.api.fast_path import FastPath
from queues.api.http.body import RequestBody
from queues.api.http.errors import ServerBusyError
from queues.api.http.large_requests import COPIES, MEMORY, MemoryBudget
from queues.api.http.request import ApiRequest, Headers
from queues.api.http.response import ApiResponse
from queues.api.routes import ROUTER, ROUTES
from tests.http.client import Client
from tests.http.service import Server, Site
from tests.support.loops import run_async
from tests.support.waiting import wait_until

MIB = 1024 * 1024
LIMIT_MIB = 64
BULK = b"[" + b",".join([b'"' + b"x" * (MIB - 2) + b'"'] * 8) + b"]"
"""Takes 24 MiB of 32 that a namespace may have."""


def test_a_namespace_may_take_half_and_all_together_everything() -> None:
    budget = MemoryBudget(100)
    one, other, late = budget.hold("one"), budget.hold("other"), budget.hold("late")
    one.grow(30)
    with pytest.raises(ServerBusyError):
        budget.hold("one").grow(21)
    other.grow(50)
    with pytest.raises(ServerBusyError):
        late.grow(21)
    late.grow(20)

    for hold in (one, other, late):
        hold.release()

    assert (budget.used, budget.share("one")) == (0, 0)


def test_one_that_is_alone_gets_what_it_needs() -> None:
    budget = MemoryBudget(100)
    hold = budget.hold("one")

    hold.grow(90)
    hold.grow(90)

    with pytest.raises(ServerBusyError):
        budget.check("one")


def test_a_refused_body_takes_no_memory_while_its_rest_is_thrown_away() -> None:
    """Else many that come together keep each other from being taken: each is refused for those that were refused."""
    read = next(route for route in ROUTES if route.name == "health.healthz")

    async def refuse(request: ApiRequest, _context: ApiContext) -> ApiResponse:
        await request.read_body(MIB)
        raise AssertionError("it was not refused")

    async def used_at_the_end() -> int:
        scope: dict[str, Any] = {
            "http_version": "1.1",
            "query_string": b"",
            "headers": [(b"transfer-encoding", b"chunked")],
            "client": None,
        }
        used = -1
        pieces = iter(range(16))

        async def receive() -> dict[str, Any]:
            nonlocal used
            used = MEMORY.used
            return {"type": "http.request", "body": bytes(MIB // 8), "more_body": next(pieces, None) is not None}

        async def send(_message: dict[str, Any]) -> None:
            """Thrown away."""

        headers = Headers(scope["headers"])
        fast_path = FastPath(ROUTER, CONTEXT)
        route = replace(read, operation=refuse, documentation=replace(read.documentation, body="x"))
        body = RequestBody("1.1", headers, receive)
        assert await fast_path.serve((route, {}), scope, headers, body, b"id", send) == 413
        return used

    assert run_async(used_at_the_end()) == 0


@pytest.fixture(scope="module")
def small(site: Site) -> Iterator[Server]:
    """A server with little memory."""
    with site.serve(TASKQ_WORKER_MEMORY_MB=str(LIMIT_MIB)) as server:
        yield server


def test_a_namespace_whose_bodies_take_too_long_is_refused_more_and_others_are_served(
    small: Server, site: Site, queue: str
) -> None:
    client = small.client
    other = Client(url=small.url, namespace="other", token=small.new_token("other"))
    parts = urlsplit(small.url)
    sent = 12 * MIB
    with socket.create_connection((str(parts.hostname), parts.port or 80), timeout=10) as slow:
        head = f"PUT /api/{client.namespace}/{queue}/bulk HTTP/1.1\r\nHost: x\r\nX-Token: {client.token}\r\n"
        slow.sendall(f"{head}Content-Length: {16 * MIB}\r\n\r\n".encode() + b" " * sent)
        assert COPIES * sent > LIMIT_MIB * MIB // 2

        wait_until(lambda: is_refused(client, queue), or_fail="a namespace may take all memory")
        refused = client.call("PUT", f"/api/{{ns}}/{queue}/bulk", body=BULK)
        assert (refused.status, refused.json, refused.headers["retry-after"]) == (503, {"error": "server busy"}, "1")
        assert client.publish(queue, b"small")
        assert other.call("PUT", f"/api/{{ns}}/{queue}/bulk", body=BULK).status == 201

    wait_until(lambda: not is_refused(client, queue), or_fail="what a client that has gone had taken is not given back")


def is_refused(client: Client, queue: str) -> bool:
    return client.call("GET", f"/api/{{ns}}/{queue}").status == 503


def test_connections_beyond_the_bound_are_refused_until_others_end(site: Site) -> None:
    bound = 16
    request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with site.serve(TASKQ_WORKER_CONNECTIONS=str(bound)) as server, contextlib.ExitStack() as stack:
        parts = urlsplit(server.url)

        def ask() -> tuple[socket.socket, bytes]:
            connection = stack.enter_context(socket.create_connection((str(parts.hostname), parts.port or 80), 10))
            connection.sendall(request)
            return connection, connection.recv(4096)

        wait_until(lambda: server.client.call("GET", "/healthz").status == 200, or_fail="it does not answer")
        answers = [ask() for _ in range(3 * bound)]
        served = [connection for connection, answer in answers if answer.startswith(b"HTTP/1.1 200 ")]
        refused = [answer for _, answer in answers if answer.startswith(b"HTTP/1.1 503 ")]

        assert 0 < len(served) <= bound
        assert len(refused) == len(answers) - len(served)
        assert all(b"retry-after: 1\r\n" in answer and answer.endswith(b'too many connections"}') for answer in refused)
        for connection in served:
            connection.close()
        wait_until(lambda: ask()[1].startswith(b"HTTP/1.1 200 "), or_fail="it takes no connection any more")
