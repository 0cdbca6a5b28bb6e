"""Answers that an application gives whole, by an extension of ASGI, and the task that they come from."""

from __future__ import annotations

import signal

import pytest

from tests.http.two_servers_connection import Wire, request
from tests.support.waiting import wait_until

from .serving import Server, serving


def test_one_connection_gets_many_of_them(wire: Wire) -> None:
    for number in range(20):
        answer = wire.call(request(f"GET /at_once?{number}"))
        assert (answer.status, answer.body) == (200, b"%d" % number)
        assert (answer.header("x-declined"), answer.header("connection")) == ("", "")
        assert answer.header("date")


def test_pipelined_they_keep_their_order_among_others(wire: Wire) -> None:
    ways = ("at_once", "at_once", "query", "stream", "at_once", "query")
    wire.send(b"".join(request(f"GET /{way}?{number}") for number, way in enumerate(ways)))

    bodies = [wire.receive().body for _ in ways]

    assert bodies == [b"0", b"1", b"2", b"one two three", b"4", b"5"]


@pytest.mark.parametrize("line", ["GET /at_once?x", "POST /at_once?x"])
def test_a_client_that_will_close_is_answered_in_the_long_way(wire: Wire, line: str) -> None:
    answer = wire.call(request(line, ("Connection", "close")))

    assert (answer.body, answer.header("x-declined"), answer.header("connection")) == (b"x", "1", "close")
    assert wire.is_closed()


def test_a_body_that_has_not_come_is_no_everyday_request(wire: Wire) -> None:
    wire.send(b"POST /at_once?x HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")

    answer = wire.receive()

    assert (answer.body, answer.header("x-declined"), answer.header("connection")) == (b"x", "1", "close")


def test_a_head_gets_no_body(wire: Wire) -> None:
    wire.send(request("HEAD /at_once?x") + request("GET /at_once?next"))

    assert wire.receive_head() == 200
    assert wire.receive().body == b"next"


@pytest.mark.parametrize("value", [b"a\r\nb: c", b"a\nb", b"a\rb"])
def test_a_line_break_in_a_header_is_a_failure_and_not_a_header(wire: Wire, value: bytes) -> None:
    answer = wire.call(request(f"GET /at_once_broken?{value.hex()}"))

    assert (answer.status, answer.header("b")) == (500, "")


def test_what_one_request_leaves_in_its_context_no_other_one_gets(wire: Wire) -> None:
    """Whether it comes after one that was answered at once, whose task it got, or after another of its kind."""
    wire.call(request("GET /at_once?x"))

    bodies = [wire.call(request(f"GET /{way}?secret")).body for way in ("leave_behind", "leave_behind", "at_once")]
    bodies.append(wire.call(request("GET /leave_behind?secret")).body)

    assert bodies == [b"nothing", b"nothing", b"secret", b"nothing"]


def test_a_client_that_goes_between_two_requests_leaves_no_task(server: Server) -> None:
    for _ in range(50):
        with Wire(server.url) as gone:
            gone.call(request("GET /at_once?x"))

    # Those that other connections have: this question's, and what the server itself does.
    wait_until(lambda: int(server.call("/tasks").body) < 10, or_fail="tasks of connections that are gone are left")


def test_a_server_with_clients_between_two_requests_stops_at_once() -> None:
    with serving() as server, Wire(server.url) as idle:
        idle.call(request("GET /at_once?x"))

        server.process.send_signal(signal.SIGTERM)

        assert server.process.wait(timeout=5) == 0
        assert idle.is_closed()
        assert not server.log.read_text()
