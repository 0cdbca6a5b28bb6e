"""What a client and the web server say to each other when both mean well."""

from __future__ import annotations

import pytest

from tests.http.two_servers_connection import Wire, request

from .application import PIECES
from .serving import Server

BODY = bytes(range(256)) * 1_000


def assert_goes_on(wire: Wire) -> None:
    assert wire.call(request("GET /query?more")).body == b"more"


def test_a_connection_is_kept_for_the_next_request(wire: Wire) -> None:
    answer = wire.call(request("GET /query?one"))

    assert (answer.status, answer.body, answer.header("connection")) == (200, b"one", "")
    assert_goes_on(wire)


def test_pipelined_requests_are_answered_in_their_order(server: Server, wire: Wire) -> None:
    """The first takes longest, and more follow than may wait."""
    count = 40
    wire.send(request("GET /wait?first") + b"".join(request(f"GET /query?{number}") for number in range(count)))
    server.wait_seen("first begun")
    server.call("/release?first")

    assert [wire.receive().body for _ in range(count + 1)] == [b"first", *(b"%d" % number for number in range(count))]


def test_more_pipelined_requests_than_are_read_at_once_are_all_answered(wire: Wire) -> None:
    count = 3_000
    wire.send(b"".join(request(f"GET /query?{number}") for number in range(count)))

    assert [wire.receive().body for _ in range(count)] == [b"%d" % number for number in range(count)]


@pytest.mark.parametrize("chunk", [0, 7_777])
def test_a_body_arrives_whole(wire: Wire, chunk: int) -> None:
    assert wire.call(request("POST /echo", body=BODY, chunk=chunk)).body == BODY
    assert_goes_on(wire)


def test_a_request_behind_a_large_body_is_answered(wire: Wire) -> None:
    wire.send(request("POST /echo", body=BODY) + request("GET /query?next") + request("POST /echo", body=BODY))

    assert [wire.receive().body for _ in range(3)] == [BODY, b"next", BODY]


def test_trailers_are_thrown_away(wire: Wire) -> None:
    head = b"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"

    assert wire.call(head + b"3\r\nabc\r\n0\r\nX-Sum: 5\r\n\r\n").body == b"abc"
    assert_goes_on(wire)


def test_pipelined_bodies_go_to_their_own_requests(wire: Wire) -> None:
    wire.send(b"".join(request("POST /echo", body=b"%d" % number, chunk=number % 2) for number in range(10)))

    assert [wire.receive().body for _ in range(10)] == [b"%d" % number for number in range(10)]


def test_a_client_that_asks_is_told_to_send_its_body(wire: Wire) -> None:
    wire.send(b"POST /echo HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")

    assert wire.receive_head() == 100
    assert wire.call(b"abc").body == b"abc"
    assert_goes_on(wire)


def test_a_client_whose_body_nobody_asks_for_is_not_told_to_send_it(wire: Wire) -> None:
    answer = wire.call(b"POST /query?x HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")

    assert (answer.body, answer.interim, answer.header("connection")) == (b"x", (), "close")
    assert wire.is_closed()


def test_a_body_that_nobody_reads_does_not_hurt_the_next_request(wire: Wire) -> None:
    assert wire.call(request("POST /query?x", body=BODY)).body == b"x"
    assert_goes_on(wire)


@pytest.mark.parametrize("path", ["/query?text", "/stream", "/pieces?13"])
def test_head_is_answered_without_a_body(wire: Wire, path: str) -> None:
    of_get = wire.call(request(f"GET {path}"))
    of_head = wire.call(request(f"HEAD {path}"))

    assert of_head.status == of_get.status == 200
    assert of_head.header("content-length") == of_get.header("content-length")
    assert_goes_on(wire)


def test_204_says_nothing_of_a_length(wire: Wire) -> None:
    answer = wire.call(request("GET /empty"))

    assert (answer.status, answer.header("content-length"), answer.header("transfer-encoding")) == (204, "", "")
    assert_goes_on(wire)


def test_a_response_of_unknown_length_comes_in_chunks(wire: Wire) -> None:
    answer = wire.call(request("GET /stream"))

    assert (answer.body, answer.header("transfer-encoding")) == (b"".join(PIECES), "chunked")
    assert_goes_on(wire)


@pytest.mark.parametrize("path", ["/query?text", "/stream"])
def test_http_1_0_is_answered_without_chunks_and_closed(wire: Wire, path: str) -> None:
    answer = wire.call(request(f"GET {path}", version="1.0"))

    assert answer.body == (b"text" if "?" in path else b"".join(PIECES))
    assert (answer.header("connection"), answer.header("transfer-encoding")) == ("close", "")
    assert wire.is_closed()


def test_a_client_that_asks_for_it_is_hung_up_on(wire: Wire) -> None:
    answer = wire.call(request("GET /query?last", ("Connection", "close")))

    assert (answer.body, answer.header("connection")) == (b"last", "close")
    assert wire.is_closed()


UPGRADE = (("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c"), ("HTTP2-Settings", "AAMAAABkAAQAAP__"))


def test_a_client_that_would_like_another_protocol_is_answered_in_this_one(wire: Wire) -> None:
    assert wire.call(request("GET /query?x", *UPGRADE)).body == b"x"
    assert_goes_on(wire)


@pytest.mark.parametrize("chunk", [0, 5_000])
def test_a_body_in_front_of_another_protocol_arrives_whole(wire: Wire, chunk: int) -> None:
    wire.send(
        request("GET /query?1") + request("POST /echo", *UPGRADE, body=BODY, chunk=chunk) + request("GET /query?2")
    )

    assert [wire.receive().body for _ in range(3)] == [b"1", BODY, b"2"]
    assert_goes_on(wire)
