"""What a page may take: time to arrive, time to be made, threads; and what becomes of what takes more."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse

from queues.engine import size
from queues.pools import WorkTimeoutError, end_work_at, engine_for
from queues.server import pages_handler
from queues.server.connection_sender import ConnectionSender, ConnectionSlots, HandOverReply
from queues.server.pages_handler import OVERDUE_MAX, THREADS_PER_ADDRESS, PagesHandler, read_body
from tests.http.two_servers_connection import request
from tests.running import stuck_pages
from tests.running.processes import ROOT
from tests.support.loops import run_async
from tests.support.waiting import wait_until

LIMIT_S = 0.3


class Pages(PagesHandler):
    """Its pages are done when `go_on` is set; `begun` counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()
        self.begun = 0
        self._limit_s = LIMIT_S

    def get_response(self, request: Any) -> Any:
        self.begun += 1
        self.go_on.wait()
        return HttpResponse("made")

    async def ask(self, method: str = "GET", address: str = "203.0.113.7") -> tuple[int, dict[bytes, bytes], bytes]:
        """Status, headers and body."""
        messages: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            messages.append(message)

        scope: dict[str, Any] = {
            "type": "http",
            "method": method,
            "path": "/",
            "raw_path": b"/",
            "query_string": b"",
            "headers": [],
            "client": (address, 1),
        }
        await self(scope, receive, send)
        body = b"".join(message["body"] for message in messages[1:])
        return messages[0]["status"], dict(messages[0]["headers"]), body


@pytest.fixture
def pages() -> Iterator[Pages]:
    pages = Pages()
    yield pages
    pages.go_on.set()


def test_a_page_that_takes_too_long_is_given_up(pages: Pages) -> None:
    status, headers, body = run_async(pages.ask())

    assert (status, body) == (503, b'{"error":"page took too long"}')
    assert headers[b"retry-after"] == b"2"


def test_a_form_that_takes_too_long_may_have_been_done(pages: Pages) -> None:
    status, headers, body = run_async(pages.ask("POST"))

    assert (status, body) == (503, b'{"error":"took too long: it may have been done"}')
    assert b"retry-after" not in headers


def test_one_address_leaves_threads_to_others_and_what_has_no_turn_in_time_is_not_begun(pages: Pages) -> None:
    async def ask() -> list[bytes]:
        many = [asyncio.create_task(pages.ask()) for _ in range(THREADS_PER_ADDRESS + 3)]
        other = asyncio.create_task(pages.ask(address="203.0.113.8"))
        await asyncio.gather(*many, other)
        return [task.result()[2] for task in many]

    bodies = run_async(ask())

    assert pages.begun == THREADS_PER_ADDRESS + 1
    assert bodies.count(b'{"error":"too many requests"}') == 3


def test_when_several_threads_do_not_come_back_the_process_is_to_end(pages: Pages) -> None:
    stuck: list[int] = []
    pages.on_stuck = lambda: stuck.append(len(pages._overdue))

    async def ask() -> None:
        await asyncio.gather(*(pages.ask() for _ in range(OVERDUE_MAX)))

    run_async(ask())

    assert stuck == [OVERDUE_MAX]


def test_one_thread_that_does_not_come_back_is_waited_for_once_more(pages: Pages) -> None:
    async def ask() -> None:
        stuck = asyncio.Event()
        pages.on_stuck = stuck.set
        began = monotonic()
        await pages.ask()
        assert not stuck.is_set()
        await stuck.wait()
        assert monotonic() - began >= 2 * LIMIT_S * 0.9

    run_async(asyncio.wait_for(ask(), 20))


@pytest.mark.django_db
def test_work_that_nobody_waits_for_ends_at_its_next_question() -> None:
    engine = engine_for("default")
    for ask in (lambda: connection.cursor().execute("SELECT 1"), lambda: engine.run(size(engine.queue("demo", "q")))):
        with pytest.raises(WorkTimeoutError), end_work_at(monotonic() - 1):
            ask()
        ask()


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_handler, "BODY_MAX_S", 0.1)

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    async def is_signed_in() -> bool:
        raise AssertionError("it is not large")

    with pytest.raises(TimeoutError):
        run_async(read_body({"headers": [(b"content-length", b"10")]}, receive, is_signed_in))


def test_places_are_for_each_address_and_in_all() -> None:
    slots = ConnectionSlots(total=3, per_address=2)

    assert [slots.take(address, number) for number, address in enumerate("aaabb")] == [True, True, False, True, False]
    slots.give_back("a", 0)
    slots.give_back("a", 0)
    assert [slots.take(address, number) for number, address in ((5, "b"), (6, "b"))] == [True, False]
    assert slots.rivals("b") == [("b", 3), ("b", 5)]


def test_a_process_whose_pages_do_not_end_ends() -> None:
    with TemporaryDirectory() as name, socket.socket() as listener:
        path = Path(name) / "pages.sock"
        env = {**os.environ, "TASKQ_PAGE_TIMEOUT_S": "1", "TASKQ_DATA_DIR": name}
        process = subprocess.Popen([sys.executable, "-m", stuck_pages.__name__, name], cwd=ROOT, env=env)
        try:
            wait_until(path.exists, or_fail="it does not start", timeout_s=60)
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            with socket.create_connection(listener.getsockname()) as client:
                server, _ = listener.accept()
                data = request("GET /", ("Host", "localhost"))
                with server:
                    passing = ConnectionSender(path).hand_over(server, data, address="127.0.0.1", is_api=False)
                    assert run_async(passing) is HandOverReply.TAKEN
                assert client.makefile("rb").readline() == b"HTTP/1.1 503 Service Unavailable\r\n"
            assert process.wait(30) == os.EX_TEMPFAIL
        finally:
            process.kill()
            process.wait()
