"""What lies between a worker and the pages process: responses as they come, clients that leave, nobody there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from queues.api.asgi import ApiGate
from queues.management.web import forwarder, origin
from queues.management.web.forwarder import Forwarder
from queues.management.web.relayed import BrokenResponseError, RelayedResponse
from tests.support.loops import run_async

PIECE = b"x" * 65_536
MANY = 1_000
HELD_MAX = 100
"""Pieces that the system's buffers and ours may hold of a response that the client does not take."""

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
def directory() -> Iterator[Path]:
    """With a path that is short enough for a socket."""
    with TemporaryDirectory() as name:
        yield Path(name)


def relayed(response: bytes, *, method: str = "GET", step: int = 0) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Status, headers and body of what comes in pieces of `step` bytes."""
    relay = RelayedResponse(method)
    messages = []
    for at in range(0, len(response), step or len(response)):
        messages += relay.feed(response[at : at + (step or len(response))])
    assert relay.is_whole
    assert [message.get("more_body") for message in messages[1:]] == [True] * (len(messages) - 2) + [False]
    return messages[0]["status"], messages[0]["headers"], b"".join(message["body"] for message in messages[1:])


@pytest.mark.parametrize("step", [0, 1, 7])
@pytest.mark.parametrize(
    ("method", "head", "body", "expected"),
    [
        ("GET", b"200 OK\r\nContent-Length: 5", b"hello", (200, b"hello")),
        ("GET", b"200 OK\r\nTransfer-Encoding: chunked", b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", (200, b"hello")),
        ("GET", b"302 Found\r\nContent-Length: 0", b"", (302, b"")),
        ("GET", b"304 Not Modified\r\nContent-Length: 5", b"", (304, b"")),
        ("GET", b"204 No Content", b"", (204, b"")),
        ("HEAD", b"200 OK\r\nContent-Length: 5", b"", (200, b"")),
        ("HEAD", b"200 OK\r\nTransfer-Encoding: chunked", b"", (200, b"")),
    ],
)
def test_a_response_is_passed_on_as_it_is(
    method: str, head: bytes, body: bytes, expected: tuple[int, bytes], step: int
) -> None:
    cookies = [(b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")]
    sent = (
        b"HTTP/1.1 " + head + b"\r\nConnection: close\r\nX-Request-ID: 1\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\n"
    )

    status, headers, content = relayed(sent + body, method=method, step=step)

    assert (status, content) == expected
    assert [header for header in headers if header[0] != b"content-length"] == cookies


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", b"what?\r\n\r\n"])
def test_a_response_that_is_not_whole_is_none(sent: bytes) -> None:
    relay = RelayedResponse("GET")

    def feed() -> None:
        for piece in (sent, b""):
            relay.feed(piece)

    with pytest.raises(BrokenResponseError):
        feed()


@pytest.mark.parametrize("client", [("127.0.0.1", 5), ("fe80::1%eth0", 0), None])
def test_who_the_client_is_survives_the_way(client: tuple[str, int] | None) -> None:
    scope: dict[str, Any] = {"scheme": "https", "client": client, "server": ("::1", 7777)}
    arrived: dict[str, Any] = {"headers": [(b"host", b"x"), (origin.HEADER, origin.describe(scope))]}

    origin.restore(arrived)

    assert arrived == {**scope, "headers": [(b"host", b"x")]}


@pytest.mark.parametrize(
    ("path", "accept", "kind"),
    [
        ("/", b"text/html", b"text/html"),
        ("/", b"*/*", b"application/json"),
        ("/pools", b"text/html", b"application/json"),
    ],
)
def test_while_nobody_is_there_clients_are_told_when_to_come_back(
    monkeypatch: pytest.MonkeyPatch, directory: Path, path: str, accept: bytes, kind: bytes
) -> None:
    monkeypatch.setattr(forwarder, "PATIENCE_S", 0.1)

    start, body = run_async(ask(directory / "nobody.sock", path, (b"accept", accept)))

    headers = dict(start["headers"])
    assert start["status"] == 503
    assert headers[b"content-type"].startswith(kind)
    assert headers[b"retry-after"] == b"2"
    assert int(headers[b"content-length"]) == len(body["body"])


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ((b"accept-language", b"en"), "Pages are starting"),
        ((b"accept-language", b"zh-CN"), "页面正在启动"),
        ((b"cookie", b"taskq_language=zh-hans"), "页面正在启动"),
    ],
)
def test_people_are_told_so_in_their_language(
    monkeypatch: pytest.MonkeyPatch, directory: Path, wish: tuple[bytes, bytes], words: str
) -> None:
    monkeypatch.setattr(forwarder, "PATIENCE_S", 0.1)

    _start, body = run_async(ask(directory / "nobody.sock", "/", (b"accept", b"text/html"), wish))

    assert words in body["body"].decode()


def test_who_leaves_is_not_waited_for(directory: Path) -> None:
    async def leave() -> bytes:
        closed: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def handle(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            closed.set_result(await reader.read())

        async with listening(directory, handle) as path:
            await ask(path, "/", leaves=True)
            return await asyncio.wait_for(closed, 5)

    assert run_async(leave()) == b""


def test_all_who_wait_for_a_process_that_starts_are_answered_and_more_than_that_are_refused(
    monkeypatch: pytest.MonkeyPatch, directory: Path
) -> None:
    most = 5
    monkeypatch.setattr(forwarder, "UNDER_WAY_MAX", most)
    looks = 0
    connect = asyncio.open_unix_connection

    async def counted(path: Path) -> Any:
        nonlocal looks
        looks += 1
        return await connect(path)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.readline():
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    async def wait() -> list[int]:
        gate = ApiGate(Forwarder(directory / "pages.sock"), fast_lane=None, near=False)
        asking = [asyncio.create_task(ask_through(gate, "/")) for _ in range(most + 2)]
        refused = await asyncio.gather(*asking[most:])
        async with listening(directory, handle):
            served = await asyncio.gather(*asking[:most])
        return [start["status"] for start, *_ in (*served, *refused)]

    monkeypatch.setattr(asyncio, "open_unix_connection", counted)

    assert run_async(wait()) == [200] * most + [503] * 2
    assert looks < 4 * most, "each looked for itself"


def test_a_client_that_takes_nothing_is_not_read_ahead_for(directory: Path) -> None:
    async def stall() -> int:
        written = 0
        stuck = asyncio.Event()

        async def handle(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal written
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (len(PIECE) * MANY))
            for _ in range(MANY):
                writer.write(PIECE)
                try:
                    await asyncio.wait_for(writer.drain(), 0.5)
                except TimeoutError:
                    break
                written += 1
            stuck.set()

        async with listening(directory, handle) as path:
            asking = asyncio.create_task(ask(path, "/", takes=False))
            await asyncio.wait_for(stuck.wait(), 10)
            asking.cancel()
            return written

    assert run_async(stall()) < HELD_MAX


@asynccontextmanager
async def listening(directory: Path, handle: Handler) -> AsyncIterator[Path]:
    """A pages process that answers as `handle` does."""
    path = directory / "pages.sock"
    server = await asyncio.start_unix_server(handle, path)
    try:
        yield path
    finally:
        server.close()


async def ask(path: Path, page: str, *headers: tuple[bytes, bytes], **manners: bool) -> list[dict[str, Any]]:
    """Of a worker that nobody else has asked."""
    gate = ApiGate(Forwarder(path), fast_lane=None, near=False)
    return await ask_through(gate, page, *headers, **manners)


async def ask_through(
    gate: ApiGate, page: str, *headers: tuple[bytes, bytes], leaves: bool = False, takes: bool = True
) -> list[dict[str, Any]]:
    """The ASGI messages of the answer to a GET. `leaves`: the client goes when it has asked."""
    messages: list[dict[str, Any]] = []
    asked = False

    async def receive() -> dict[str, Any]:
        nonlocal asked
        if asked and not leaves:
            await asyncio.Event().wait()
        was_asked, asked = asked, True
        return {"type": "http.disconnect"} if was_asked else {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)
        if not takes:
            await asyncio.Event().wait()

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": page,
        "raw_path": page.encode(),
        "query_string": b"",
        "headers": [(b"host", b"localhost"), *headers],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    await gate(scope, receive, send)
    return messages
