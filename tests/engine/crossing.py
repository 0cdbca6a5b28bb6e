"""A way to Redis that can be cut, held up and interrupted: between the client and the real server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from .loop import until

ACCEPTING_TURNS: Final = 5
"""Of the loop, from when a listening socket has taken a connection until the task for it has begun."""


class Crossing:
    """Carries bytes both ways. `replies_pass` off: the server hears, and its replies stay where they are."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._carriers: set[asyncio.Task[None]] = set()
        self._connections: set[asyncio.Task[Any] | None] = set()
        self._to_clients: list[asyncio.StreamWriter] = []
        self._replies_pass = asyncio.Event()
        self._replies_pass.set()
        self.accepted = 0
        self.carried = 0
        """Bytes of replies so far."""
        self.cut_after: int | None = None
        """Close a connection once so many bytes of replies have been passed on."""
        self.piece_bytes = 65_536
        self.pause_s = 0.0
        """Between two pieces of replies."""

    @property
    def open_connections(self) -> int:
        return len(self._to_clients)

    def hold_replies(self) -> None:
        self._replies_pass.clear()

    def let_replies_pass(self) -> None:
        self._replies_pass.set()

    def cut(self) -> None:
        """Close every connection."""
        for writer in self._to_clients:
            writer.close()

    def interrupt(self, said: bytes) -> None:
        """Say something to every client that the server did not say."""
        for writer in self._to_clients:
            writer.write(said)

    async def carry(self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        """One connection, to its end."""
        connection = asyncio.current_task()
        self._connections.add(connection)
        try:
            await self._carry(from_client, to_client)
        finally:
            self._connections.discard(connection)

    async def end(self) -> None:
        """Close every connection, and return once they have ended: also one that is just being accepted."""
        self.let_replies_pass()
        for _ in range(ACCEPTING_TURNS):
            await asyncio.sleep(0)
        self.cut()
        await until(lambda: not self._connections, or_fail="connections do not end")

    async def _carry(self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        self.accepted += 1
        from_server, to_server = await asyncio.open_unix_connection(self._server)
        self._to_clients.append(to_client)
        there = asyncio.ensure_future(self._carry_requests(from_client, to_server))
        self._carriers.add(there)
        try:
            with contextlib.suppress(OSError):
                await self._carry_replies(from_server, to_client)
        finally:
            there.cancel()
            self._carriers.discard(there)
            self._to_clients.remove(to_client)
            to_client.close()
            to_server.close()

    async def _carry_requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while said := await reader.read(65_536):
                writer.write(said)
        writer.close()

    async def _carry_replies(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        carried = 0
        while said := await reader.read(self.piece_bytes):
            await self._replies_pass.wait()
            if writer.is_closing():
                return
            writer.write(said)
            self.carried += len(said)
            carried += len(said)
            if self.cut_after is not None and carried >= self.cut_after:
                return
            if self.pause_s:
                await asyncio.sleep(self.pause_s)


@asynccontextmanager
async def crossing(directory: Path, redis_url: str) -> AsyncIterator[tuple[Crossing, str]]:
    """A crossing to the server, and its URL."""
    way = Crossing(urlsplit(redis_url).path)
    place = directory / "crossing.sock"
    server = await asyncio.start_unix_server(way.carry, str(place))
    try:
        yield way, f"unix://{place}"
    finally:
        server.close()
        await way.end()
