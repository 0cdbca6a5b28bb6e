"""The HTTP client against real sockets."""

from __future__ import annotations

import asyncio
import socket
import threading
from ipaddress import ip_network
from pathlib import Path

import pytest
import uvloop

from queues.http_client import (
    AddressRules,
    HttpClient,
    HttpClientError,
    HttpFailure,
    Resolver,
    client_tls,
    parse_target,
)
from queues.http_client.addresses import Lookup, look_up
from queues.http_client.client import IDLE_S
from queues.http_client.connection import BODY_KEPT_BYTES
from tests.engine.loop import in_loop
from tests.support.rows import in_one_test

from .certificates import Authority
from .sink import Received, Sink, listening, never, replies, says

LOOPBACK = AddressRules.of([ip_network("127.0.0.0/8")])
TYPE = b"content-type: text/plain\r\n"


def client(
    url: str, *, rules: AddressRules = LOOPBACK, lookup: Lookup = look_up, ca_file: str = "", kept: int = 4
) -> HttpClient:
    return HttpClient(parse_target(url), rules=rules, resolver=Resolver(lookup), tls=client_tls(ca_file), max_kept=kept)


async def failure(posting: HttpClient, *, timeout_s: float = 5.0) -> tuple[HttpFailure, str]:
    with pytest.raises(HttpClientError) as caught:
        await posting.post(TYPE, b"job", timeout_s=timeout_s)
    return caught.value.failure, str(caught.value)


@in_loop
async def test_a_body_is_posted_and_the_answer_read() -> None:
    async with listening(replies("202 Accepted", b"thanks", "X-A: b")) as sink:
        response = await client(sink.url).post(TYPE, b"job \x00\xff", timeout_s=5)

    assert (response.status, response.reason, response.body) == (202, "Accepted", b"thanks")
    assert response.header("x-a") == "b"
    (request,) = sink.received
    assert (request.path, request.body) == ("/hook?x=1", b"job \x00\xff")
    assert request.headers["host"] == f"127.0.0.1:{sink.port}"
    assert request.headers["content-type"] == "text/plain"


def test_it_works_on_uvloop_too() -> None:
    async def talk() -> None:
        async with listening(replies("200 OK", b"pong")) as sink:
            posting = client(sink.url)
            for _ in range(2):
                assert (await posting.post(TYPE, b"x" * 200_000, timeout_s=5)).body == b"pong"
            assert sink.connections == 1

    uvloop.run(talk())


@in_loop
async def test_a_connection_that_is_closed_at_once_is_a_failure() -> None:
    accepted = 0

    def close(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal accepted
        accepted += 1
        writer.transport.abort()

    server = await asyncio.start_server(close, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    assert (await failure(client(f"http://127.0.0.1:{port}/")))[0] is HttpFailure.CLOSED
    server.close()
    assert accepted == 1


@in_loop
async def test_connections_are_kept_and_a_closed_one_is_replaced() -> None:
    async with listening() as sink:
        posting = client(sink.url)
        for _ in range(3):
            await posting.post(TYPE, b"job", timeout_s=5)
        assert sink.connections == 1

        sink.answer = says(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", closes=True)
        await posting.post(TYPE, b"job", timeout_s=5)
        await posting.post(TYPE, b"job", timeout_s=5)

    assert len(sink.received) == 5
    assert sink.connections == 2


@in_loop
async def test_a_connection_that_was_idle_for_long_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with listening() as sink:
        posting = client(sink.url)
        await posting.post(TYPE, b"job", timeout_s=5)
        (kept,) = posting._idle
        kept.idle_since -= IDLE_S
        await posting.post(TYPE, b"job", timeout_s=5)

    assert sink.connections == 2


@in_loop
async def test_a_large_body_arrives_whole() -> None:
    async with listening() as sink:
        await client(sink.url).post(TYPE, b"x" * 2**20, timeout_s=10)

    assert sink.bodies() == [b"x" * 2**20]


@in_loop
async def test_interim_answers_are_skipped() -> None:
    raw = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n"
    async with listening(says(raw)) as sink:
        response = await client(sink.url).post(TYPE, b"job", timeout_s=5)

    assert (response.status, response.headers) == (204, (("x-a", "b"),))


@in_loop
async def test_one_that_never_answers_times_out() -> None:
    async with listening(never) as sink:
        assert await failure(client(sink.url), timeout_s=0.05) == (HttpFailure.TIMEOUT, "no answer in time")


@in_loop
async def test_a_head_that_drips_times_out() -> None:
    async def drip(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"X: y\r\n")
            await asyncio.sleep(0.01)

    async with listening(drip) as sink:
        assert (await failure(client(sink.url), timeout_s=0.1))[0] is HttpFailure.TIMEOUT


@in_loop
async def test_the_status_counts_though_the_body_drips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queues.http_client.connection.BODY_READ_S", 0.05)
    raw = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf"
    async with listening(says(raw)) as sink:
        response = await client(sink.url).post(TYPE, b"job", timeout_s=30)

    assert (response.status, response.body) == (200, b"half")


@in_loop
async def test_of_a_huge_body_the_beginning_is_read_and_the_connection_closed() -> None:
    sent = 0

    async def flood(_request: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 500 Oops\r\nContent-Length: 100000000000\r\n\r\n")
        while True:
            writer.write(b"x" * 65_536)
            sent += 65_536
            await writer.drain()

    async with listening(flood) as sink:
        posting = client(sink.url)
        response = await posting.post(TYPE, b"job", timeout_s=10)

        assert (response.status, response.body) == (500, b"x" * BODY_KEPT_BYTES)
        assert posting._idle == []
    assert sent < 64 * 2**20


@in_loop
async def test_an_endless_head_is_refused() -> None:
    async with listening(says(b"HTTP/1.1 200 OK\r\n" + b"X-A: bbbbbbbbbbb\r\n" * 10_000)) as sink:
        assert (await failure(client(sink.url)))[0] is HttpFailure.PROTOCOL


@pytest.mark.parametrize("raw", [b"SSH-2.0-OpenSSH_9\r\n", b"\x00\x01\x02" * 10, b"HTTP/1.1 999999 X\r\n\r\n"])
def test_what_is_not_http_is_refused(raw: bytes) -> None:
    async def talk() -> None:
        async with listening(says(raw)) as sink:
            assert (await failure(client(sink.url)))[0] is HttpFailure.PROTOCOL

    asyncio.run(talk())


@in_loop
async def test_a_connection_that_is_closed_without_an_answer_is_a_failure() -> None:
    async with listening(says(b"", closes=True)) as sink:
        assert await failure(client(sink.url)) == (HttpFailure.CLOSED, "the connection was closed without an answer")
    assert len(sink.received) == 1


@in_loop
async def test_nobody_listening_is_a_failure_that_names_the_address() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    kind, words = await failure(client(f"http://127.0.0.1:{port}/"))

    assert kind is HttpFailure.CONNECT
    assert words.startswith(f"cannot connect to 127.0.0.1:{port}: ")


# Addresses


@in_loop
async def test_a_literal_address_that_is_not_public_is_not_connected_to() -> None:
    async with listening() as sink:
        kind, words = await failure(client(sink.url, rules=AddressRules()))

    assert kind is HttpFailure.ADDRESS
    assert words.startswith("127.0.0.1: not a public address")
    assert sink.connections == 0


@in_one_test("spelled", ["localhost", "127.1", "0x7f000001", "2130706433", "0177.0.0.1"])
def test_a_name_that_means_the_loopback_is_not_connected_to(spelled: str) -> None:
    async def talk(sink: Sink) -> None:
        kind, words = await failure(client(f"http://{spelled}:{sink.port}/", rules=AddressRules()))
        assert kind is HttpFailure.ADDRESS
        assert words.startswith(f"{spelled}: not a public address"), "and not which one it is"

    async def test() -> None:
        async with listening() as sink:
            await talk(sink)
        assert sink.connections == 0

    asyncio.run(test())


@in_loop
async def test_the_connection_is_made_to_the_address_that_was_checked() -> None:
    """A name that means something else when it is looked up again (DNS rebinding) leads nowhere else."""
    answers = iter([["10.9.9.9", "127.0.0.2"], ["127.0.0.3"]])
    asked: list[str] = []

    def lookup(host: str, _port: int) -> list[str]:
        asked.append(host)
        return next(answers)

    async with listening() as sink:
        server = await asyncio.start_server(sink.serve, "127.0.0.2", 0)
        port = server.sockets[0].getsockname()[1]
        rules = AddressRules.of([ip_network("127.0.0.2/32")])
        await client(f"http://rebind.example:{port}/", rules=rules, lookup=lookup).post(TYPE, b"job", timeout_s=5)
        server.close()

    (request,) = sink.received
    assert asked == ["rebind.example"]
    assert request.host == "127.0.0.2"
    assert request.headers["host"] == f"rebind.example:{port}"


@in_loop
async def test_a_redirect_is_the_answer_and_not_followed() -> None:
    async with listening() as inside, listening() as sink:
        sink.answer = replies("302 Found", b"", f"Location: {inside.url}")
        response = await client(sink.url).post(TYPE, b"job", timeout_s=5)

        assert (response.status, response.header("location")) == (302, inside.url)
        assert inside.connections == 0


@in_loop
async def test_a_name_that_does_not_exist_is_a_failure() -> None:
    def lookup(_host: str, _port: int) -> list[str]:
        raise socket.gaierror(-2, "Name or service not known")

    assert await failure(client("https://nowhere.example/", lookup=lookup)) == (
        HttpFailure.LOOKUP,
        "cannot look up nowhere.example: Name or service not known",
    )


@in_loop
async def test_a_lookup_that_never_ends_delays_no_other_and_is_not_repeated() -> None:
    stuck, asked = threading.Event(), list[str]()

    def lookup(host: str, _port: int) -> list[str]:
        asked.append(host)
        if host == "stuck.example":
            stuck.wait(10)
        return ["127.0.0.1"]

    async with listening() as sink:
        resolver = Resolver(lookup)
        tls = client_tls()

        def to(host: str) -> HttpClient:
            target = parse_target(f"http://{host}:{sink.port}/")
            return HttpClient(target, rules=LOOPBACK, resolver=resolver, tls=tls, max_kept=1)

        waiting = [asyncio.create_task(failure(to("stuck.example"), timeout_s=0.3)) for _ in range(50)]
        response = await to("quick.example").post(TYPE, b"job", timeout_s=5)
        assert response.status == 200
        assert set(await asyncio.gather(*waiting)) == {(HttpFailure.TIMEOUT, "no connection in time")}
        assert asked.count("stuck.example") == 1
        stuck.set()


# TLS


@in_loop
async def test_tls_checks_certificate_and_name(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    names = {"hooks.example": ["127.0.0.1"], "other.example": ["127.0.0.1"]}

    def lookup(host: str, _port: int) -> list[str]:
        return names[host]

    async with listening(tls=authority.server("hooks.example")) as sink:
        url = f"https://hooks.example:{sink.port}/"
        response = await client(url, lookup=lookup, ca_file=authority.ca_file).post(TYPE, b"job", timeout_s=5)
        assert response.status == 200

        kind, words = await failure(client(url, lookup=lookup))
        assert kind is HttpFailure.TLS
        assert "certificate" in words
        other = url.replace("hooks", "other")
        kind, words = await failure(client(other, lookup=lookup, ca_file=authority.ca_file))
        assert kind is HttpFailure.TLS
        assert "mismatch" in words
    assert len(sink.received) == 1


@in_loop
async def test_one_that_speaks_no_tls_is_a_failure() -> None:
    async with listening(says(b"HTTP/1.1 400 Bad Request\r\n\r\n", closes=True)) as sink:
        server = await asyncio.start_server(lambda _r, w: w.write(b"HTTP/1.1 400 Bad\r\n\r\n"), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        kind, _ = await failure(client(f"https://127.0.0.1:{port}/"))
        server.close()
    assert kind is HttpFailure.TLS
    assert sink.received == []
