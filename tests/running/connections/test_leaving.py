"""Clients that leave, and clients that are left because they are silent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.http.two_servers_connection import Wire, request
from tests.support.waiting import wait_until

from .application import HUNG_UP_NOTICED
from .serving import Server, serving

IDLE_MAX_S = 1


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(idle_max_s=IDLE_MAX_S) as server:
        yield server
        assert server.log.read_text() == ""


def wait_out(server: Server) -> None:
    """Long enough for a connection to be idle for too long, twice."""
    for _ in range(2):
        with Wire(server.url) as silent:
            assert silent.is_closed()


def is_left(wire: Wire, byte: bytes) -> bool:
    """Whether the server has closed it; sends it a byte."""
    try:
        wire.send(byte)
    except ConnectionError:
        return True
    return False


def test_clients_that_fall_silent_are_not_waited_for(server: Server) -> None:
    """All at once, for each is given the same time."""
    answered, head = request("GET /query?x"), b"GET /query HTTP/1.1\r\nX: "
    with ExitStack() as stack:
        at_once, after_an_answer, in_a_head, in_a_second_head, in_a_body = (
            stack.enter_context(Wire(server.url)) for _ in range(5)
        )
        assert after_an_answer.call(answered).body == b"x"
        in_a_head.send(head)
        in_a_second_head.send(answered + head)
        in_a_body.send(b"POST /echo HTTP/1.1\r\nContent-Length: 3\r\n\r\nab")

        for wire in (in_a_head, in_a_second_head):  # these send on, byte by byte
            wait_until(lambda wire=wire: is_left(wire, b"y"), or_fail="the server still listens")  # type: ignore[misc]
        for wire in (at_once, after_an_answer, in_a_body):
            assert wire.is_closed()


def test_a_client_is_not_silent_while_the_application_works(server: Server, wire: Wire) -> None:
    wire.send(request("GET /wait?working"))
    wait_out(server)
    server.call("/release?working")

    assert wire.receive().body == b"working"
    assert wire.call(request("GET /query?more")).body == b"more"


def test_the_application_is_told_that_its_client_has_gone(server: Server) -> None:
    with Wire(server.url) as wire:
        wire.send(request("GET /wait?alone"))
        server.wait_seen("alone begun")

    server.wait_seen("alone gone")


def test_no_more_is_done_for_a_client_that_has_gone(server: Server) -> None:
    """Nor for what it had lined up behind the request that waits."""
    with Wire(server.url) as wire:
        wire.send(request("GET /query?x") + request("GET /wait?ahead") + request("GET /wait?behind"))
        server.wait_seen("ahead begun")

    server.wait_seen("ahead gone")
    assert "behind begun" not in server.call("/seen").json


def test_a_request_that_waited_behind_another_is_told_too(server: Server) -> None:
    with Wire(server.url) as wire:
        wire.send(request("GET /wait?former") + request("GET /wait?latter"))
        server.wait_seen("former begun")
        server.call("/release?former")
        server.wait_seen("latter begun")

    server.wait_seen("latter gone")


def test_the_application_may_ask_before_the_event_loop_hears_of_it(server: Server) -> None:
    with Wire(server.url) as wire:
        wire.send(request("GET /block"))
        assert server.output.readline() == "hung up: False\n"

    assert server.output.readline() == HUNG_UP_NOTICED + "\n"


def test_a_client_that_is_read_from_no_more_can_be_asked_after(server: Server) -> None:
    """So many requests wait behind that the event loop does not look at the connection."""
    with Wire(server.url) as wire:
        wire.send(request("GET /block") + request("GET /query") * 100)
        assert server.output.readline() == "hung up: False\n"

    assert server.output.readline() == HUNG_UP_NOTICED + "\n"
