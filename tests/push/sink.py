"""A receiver of pushed jobs: a real HTTP server on a socket, in the test's event loop, that answers as it is told."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A request. Names of headers in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes
    host: str
    """The local address that it came in on."""


Answer = Callable[[Received, asyncio.StreamWriter], Awaitable[None]]


def replies(status: str = "200 OK", body: bytes = b"", *headers: str) -> Answer:
    """Always the same answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    raw = "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    async def answer(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)

    return answer


def held(gate: asyncio.Event) -> Answer:
    """No answer before the gate is open, then 200."""

    async def answer(request: Received, writer: asyncio.StreamWriter) -> None:
        await gate.wait()
        await replies()(request, writer)

    return answer


def says(raw: bytes, *, closes: bool = False) -> Answer:
    """These bytes, whatever they are."""

    async def answer(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        if closes:
            writer.close()

    return answer


async def never(_request: Received, _writer: asyncio.StreamWriter) -> None:
    """No answer, for as long as the caller waits."""
    await asyncio.Event().wait()


@dataclass(slots=True)
class Sink:
    """`answer` may be changed at any time. `most`: requests that were under way at the same time."""

    answer: Answer = field(default_factory=replies)
    received: list[Received] = field(default_factory=list)
    connections: int = 0
    under_way: int = 0
    most: int = 0
    port: int = 0
    scheme: str = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/hook?x=1"

    def bodies(self) -> list[bytes]:
        return [one.body for one in self.received]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                request_line, *lines = head.rstrip("\r\n").split("\r\n")
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
                body = await reader.readexactly(int(headers["content-length"]))
                method, path, _ = request_line.split(" ")
                assert method == "POST"
                request = Received(path=path, headers=headers, body=body, host=writer.get_extra_info("sockname")[0])
                self.received.append(request)
                self.under_way += 1
                self.most = max(self.most, self.under_way)
                answer = asyncio.ensure_future(self.answer(request, writer))
                try:
                    while not answer.done():
                        if reader.at_eof() or reader.exception():  # the caller hung up
                            writer.close()
                            return
                        await asyncio.wait({answer}, timeout=0.02)
                    answer.result()
                finally:
                    self.under_way -= 1
                    answer.cancel()
                await writer.drain()
        writer.close()


@asynccontextmanager
async def listening(answer: Answer | None = None, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Sink]:
    """A sink on a free port of the loopback."""
    sink = Sink(answer=answer or replies(), scheme="https" if tls else "http")
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        await sink.serve(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls, limit=2**20)
    sink.port = server.sockets[0].getsockname()[1]
    try:
        yield sink
    finally:
        server.close()
        for task in tasks:
            task.cancel()
