"""What a worker does with requests for pages: it hands them to the pages process, and hands back what that answers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import monotonic
from typing import Final

from queues.api.asgi_types import Receive, Scope, Send
from queues.api.lifespan import answer_lifespan

from .relayed import BrokenResponseError, RelayedResponse
from .relaying import relay_request
from .unavailable import answer_unavailable

PATIENCE_S: Final = 15.0
"""How long requests wait for a pages process that starts, from the first that has found it away."""

RETRY_S: Final = 0.05
UNDER_WAY_MAX: Final = 256
"""Requests of a worker that are with the pages process or wait for it; more are refused: producers come first."""

PIECE_MAX: Final = 65_536
TRIES: Final = 2
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_FRAMING: Final = frozenset({b"content-length", b"transfer-encoding"})


class Forwarder:
    """An ASGI application: a connection to the Unix socket `path` for each request."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._under_way = 0
        self._away_since: float | None = None
        self._missed_at = 0.0
        self._lookout: asyncio.Task[bool] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await answer_lifespan(receive, send)
            return
        if self._under_way >= UNDER_WAY_MAX:
            await answer_unavailable(scope, send)
            return
        self._under_way += 1
        try:
            await self._forward(scope, receive, send)
        finally:
            self._under_way -= 1

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_harmless = _changes_nothing(scope)
        for _ in range(TRIES if is_harmless else 1):
            streams = await self._connect()
            if streams is None:
                await answer_unavailable(scope, send)
                return
            if await _exchange(*streams, scope, receive, send):
                return
        await answer_unavailable(scope, send, may_be_done=not is_harmless)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """None: it is away, and has been for too long."""
        while True:
            try:
                streams = await asyncio.open_unix_connection(self._path)
            except OSError:
                if not await self._comes_back():
                    return None
            else:
                self._away_since = None
                return streams

    async def _comes_back(self) -> bool:
        """Wait for it; one looks for all. Those who come when it has been away for long are told at once."""
        now = monotonic()
        if self._away_since is None or now - self._missed_at > PATIENCE_S:
            self._away_since = now
        self._missed_at = now
        if now - self._away_since >= PATIENCE_S:
            return False
        if self._lookout is None or self._lookout.done():
            self._lookout = asyncio.create_task(self._look_out(until=self._away_since + PATIENCE_S))
        return await asyncio.shield(self._lookout)

    async def _look_out(self, *, until: float) -> bool:
        while monotonic() < until:
            await asyncio.sleep(RETRY_S)
            try:
                _, writer = await asyncio.open_unix_connection(self._path)
            except OSError:
                continue
            writer.transport.abort()
            return True
        return False


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, scope: Scope, receive: Receive, send: Send
) -> bool:
    """Whether the client needs no other answer. Raises BrokenResponseError if it has got a part of one."""
    asking = asyncio.create_task(relay_request(scope, receive, writer))
    response = RelayedResponse(scope["method"])
    is_begun = False
    try:
        while not response.is_whole:
            for message in response.feed(await reader.read(PIECE_MAX)):
                is_begun = True
                await send(message)
    except (ConnectionError, BrokenResponseError) as error:
        has_left = asking.done() and asking.result()
        if is_begun and not has_left:
            raise BrokenResponseError("the pages process ended while it answered") from error
        return has_left
    finally:
        asking.cancel()
        writer.transport.abort()
    return True


def _changes_nothing(scope: Scope) -> bool:
    """Whether it may be asked again: who was being answered when the process died need not hear of it."""
    return scope["method"] in _SAFE and not any(name in _FRAMING for name, _ in scope["headers"])
