"""Reads a request body from ASGI messages when an operation asks for it, and no further than it allows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from queues.engine.limits import BULK_MAX_BYTES

from .errors import BodyTooLargeError, ClientGoneError

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

DRAIN_MAX_BYTES: Final = 2 * BULK_MAX_BYTES
DRAIN_MAX_S: Final = 2.0
"""How much of a refused body is read and thrown away: clients that send first and read later get their answer."""

_EMPTY: Final = {"type": "http.request", "body": b"", "more_body": False}


class RequestBody:
    """The body of one request. Nothing is read before somebody asks, so a refused request costs no memory."""

    __slots__ = (
        "_declared",
        "_expects_continue",
        "_handed_empty",
        "_may_watch",
        "_receive",
        "_settled",
        "_watching",
    )

    def __init__(self, http_version: str, headers: Sequence[tuple[bytes, bytes]], receive: Receive) -> None:
        self._receive = receive
        self._handed_empty = False
        self._settled = asyncio.Event()
        self._may_watch = asyncio.Event()
        self._watching = False
        self._expects_continue = False
        # In HTTP/1 a body announces itself; in HTTP/2 it may come without a word.
        self._declared: int | None = 0 if http_version.startswith("1") else None
        chunked = False
        for name, value in headers:
            if name == b"content-length" and value.isdigit():
                self._declared = int(value)
            elif name == b"transfer-encoding":
                chunked = True
            elif name == b"expect":
                self._expects_continue = True
        if chunked:
            self._declared = None
        if self._declared == 0:
            self._settle()

    async def read(self, limit: int) -> bytes:
        """All of it. Raises BodyTooLargeError if it is longer than `limit`, by its declared length or while reading."""
        if self._settled.is_set():
            return b""
        if self._declared is not None and self._declared > limit:
            raise BodyTooLargeError("body too large")
        chunks: list[bytes] = []
        size = 0
        async for chunk in self._chunks():
            size += len(chunk)
            if size > limit:
                raise BodyTooLargeError("body too large")
            chunks.append(chunk)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def drain(self) -> None:
        """Throw away what nobody read, within bounds. A client that waits for `100 Continue` has sent nothing yet."""
        if self._settled.is_set() or self._expects_continue:
            return
        try:
            async with asyncio.timeout(DRAIN_MAX_S):
                if self._watching:  # it throws the body away already, and two readers would take from each other
                    await self._settled.wait()
                    return
                size = 0
                async for chunk in self._chunks():
                    size += len(chunk)
                    if size > DRAIN_MAX_BYTES:
                        return
        except (TimeoutError, ClientGoneError):
            return

    async def receive_for_django(self) -> Message:
        """What Django gets to see: an empty body, and then only that the client has gone."""
        if not self._handed_empty:
            self._handed_empty = True
            return _EMPTY
        await self._may_watch.wait()
        self._watching = True
        size = 0
        while (message := await self._receive())["type"] != "http.disconnect":
            size += len(message.get("body", b""))
            if not message.get("more_body", False):
                self._settled.set()
            elif size > DRAIN_MAX_BYTES:
                # Too much to throw away: from now on the client is not listened to, and its request runs to its end.
                self._settled.set()
                await asyncio.Event().wait()
        self._settled.set()
        return message

    def skip(self) -> None:
        """Nobody will read it: from now on it is thrown away, within bounds, to see whether the client is there."""
        self._may_watch.set()

    def _settle(self) -> None:
        """It is over."""
        self._settled.set()
        self._may_watch.set()

    async def _chunks(self) -> Any:
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self._settle()
                raise ClientGoneError("client gone")
            if not message.get("more_body", False):
                self._settle()
                yield message.get("body", b"")
                return
            yield message.get("body", b"")
