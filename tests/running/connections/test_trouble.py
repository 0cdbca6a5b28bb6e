"""Applications that break their word, and clients that send what is no request."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.http.two_servers_connection import Answer, Wire, request

from .application import PIECES
from .serving import Server, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as server:
        yield server
        log = server.log.read_text()
        assert "Fatal error" not in log, log  # as the event loop says when a connection's own code fails


def assert_failed(answer: Answer, wire: Wire) -> None:
    assert (answer.status, answer.body) == (500, b"Internal Server Error")
    assert answer.header("x-value") == ""
    assert answer.header("connection") == "close"
    assert wire.is_closed()


def assert_refused(answer: Answer, status: int, wire: Wire) -> None:
    assert answer.status == status
    assert list(answer.json) == ["error"]
    assert answer.header("connection") == "close"
    assert wire.is_closed()


@pytest.mark.parametrize("promised", [len(b"".join(PIECES)) - 1, len(b"".join(PIECES)) + 1])
def test_a_response_that_is_not_as_long_as_promised_is_cut(wire: Wire, promised: int) -> None:
    """The last piece, with which that shows, is not sent."""
    answer = wire.call(request(f"GET /pieces?{promised}"))

    assert (answer.status, answer.body) == (200, b"".join(PIECES[:-1]))
    assert wire.is_closed()


@pytest.mark.parametrize("promised", [4, 6])
def test_a_response_that_is_not_as_long_as_promised_is_not_begun(wire: Wire, promised: int) -> None:
    assert_failed(wire.call(request(f"GET /whole?{promised}")), wire)


def test_an_application_that_fails_is_answered_for(wire: Wire) -> None:
    assert_failed(wire.call(request("GET /fail")), wire)


def test_an_application_that_fails_in_the_middle_leaves_its_answer_unfinished(wire: Wire) -> None:
    wire.send(request("GET /fail_late"))

    with pytest.raises(ValueError, match="invalid literal"):  # instead of the size of the next chunk nothing comes
        wire.receive()


@pytest.mark.parametrize("value", [b"a\r\nx-more: b", b"a\nb", b"a\rb", b"a\r\n\r\nb"])
def test_a_line_break_in_a_header_is_not_sent(wire: Wire, value: bytes) -> None:
    assert_failed(wire.call(request(f"GET /broken_header?{value.hex()}")), wire)


CHUNKS = b"3\r\nabc\r\n0\r\n\r\n"
POST = b"POST /echo HTTP/1.1\r\n"
UPGRADE = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET /query\r\n\r\n", 505),
        (b"GET /query HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET /query HTTP/1.1\r\nX : y\r\n\r\n", 400),
        (b"GET /query HTTP/1.1\r\n folded: y\r\n\r\n", 400),
        (b"BREW /query HTTP/1.1\r\n\r\n", 501),
        (b"GET /query HTTP/0.9\r\n\r\n", 505),
        (POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS, 400),
        (POST + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n" + CHUNKS, 400),
        (POST + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400),
        (POST + b"Content-Length: 3, 4\r\n\r\nabcd", 400),
        (POST + b"Content-Length: -3\r\n\r\nabc", 400),
        (POST + b"Content-Length: +3\r\n\r\nabc", 400),
        (POST + b"Transfer-Encoding: gzip\r\n\r\nabc", 400),
        (POST + b"Transfer-Encoding: chunked, identity\r\n\r\n" + CHUNKS, 400),
        (POST + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
        (POST + UPGRADE + b"Transfer-Encoding: gzip\r\n\r\nabc", 400),
        (POST + UPGRADE + b"Transfer-Encoding: chunked, identity\r\n\r\n" + CHUNKS, 400),
        (POST + UPGRADE + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS, 400),
        (POST + UPGRADE + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
        (b"GET /query HTTP/1.1\r\n" + b"X: y\r\n" * 257 + b"\r\n", 431),
        (b"GET /query HTTP/1.1\r\nX: " + b"y" * 66_000 + b"\r\n\r\n", 431),
        (b"GET /query HTTP/1.1\r\nX: " + b"y" * 1_000_000, 431),
        (b"GET /query?" + b"y" * 66_000 + b" HTTP/1.1\r\n\r\n", 431),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"y" * 100_000, 431),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"y" * 100_000, 431),
    ],
    ids=lambda value: value[:90].decode("latin-1").encode("unicode_escape") if isinstance(value, bytes) else None,
)
def test_what_is_no_request_is_refused(wire: Wire, raw: bytes, status: int) -> None:
    assert_refused(wire.call(raw), status, wire)


def test_a_head_just_below_the_limit_is_taken(wire: Wire) -> None:
    assert wire.call(request("GET /query?x", ("X", "y" * 65_000))).body == b"x"


def test_what_came_before_it_is_answered(server: Server, wire: Wire) -> None:
    broken = b"GET /query HTTP/1.1\r\nno colon\r\n\r\n"
    wire.send(request("GET /wait?before") + request("GET /query?2") + broken + request("GET /query?3"))
    server.wait_seen("before begun")
    server.call("/release?before")

    assert [wire.receive().body for _ in range(2)] == [b"before", b"2"]
    assert_refused(wire.receive(), 400, wire)


def test_what_comes_after_the_last_request_is_not_answered(wire: Wire) -> None:
    wire.send(request("GET /query?1", ("Connection", "close")) + request("GET /query?2"))

    assert wire.receive().body == b"1"
    assert wire.is_closed()


@pytest.mark.parametrize("space", ["", " ", "\t", " \t "])
def test_space_around_a_headers_value_is_not_part_of_it(wire: Wire, space: str) -> None:
    answer = wire.call(f"POST /echo_header HTTP/1.1\r\nContent-Length:{space}3{space}\r\n\r\nabc".encode())

    assert answer.body == b"3 abc"
