"""Clients that leave, and clients that are left because they are silent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.http.doors_wire import Wire, request
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


def test_a_connection_on_which_nothing_is_said_is_closed(wire: Wire) -> None:
    assert wire.is_closed()


def test_a_connection_on_which_nothing_more_is_said_is_closed(wire: Wire) -> None:
    assert wire.call(request("GET /query?x")).body == b"x"
    assert wire.is_closed()


@pytest.mark.parametrize("before", [b"", request("GET /query?x")])
def test_a_head_that_does_not_end_in_time_is_not_waited_for(wire: Wire, before: bytes) -> None:
    wire.send(before + b"GET /query HTTP/1.1\r\nX: ")

    wait_until(lambda: is_left(wire, b"y"), or_fail="the server still listens")


def test_a_body_of_which_nothing_comes_is_not_waited_for(wire: Wire) -> None:
    wire.send(b"POST /echo HTTP/1.1\r\nContent-Length: 3\r\n\r\nab")

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
