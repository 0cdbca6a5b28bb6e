"""Hands clients' connections over from a worker to the pages process: the worker's side.

A worker serves the API's fast path. It passes a connection on which anything else is asked for to the pages process, by
SCM_RIGHTS on a Unix socket, with the bytes that it has read from the beginning of that request on. Nothing is parsed
twice and nothing is copied afterwards: the worker closes its own descriptor, which the client does not notice.

The pages process confirms a connection before it serves it, and cannot confirm it any more once the worker has given
up. So a request is served by one of them, never by both; the worker answers 503 for what was not taken.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from enum import Enum
from pathlib import Path
from time import monotonic
from typing import Final

from queues.api.asgi import FOUND, METRICS_PATH, ApiMiddleware, answer_lifespan, is_api_to_django
from queues.api.fast_path import FastPath
from queues.api.http.request import Receive, Scope, Send
from queues.api.metrics.process import flush

from .error_pages import BUSY, STARTING, answer_error
from .places import Places

PATIENCE_S: Final = 15.0
"""How long connections wait for a pages process that starts, from the first that found it away; and for its answer."""

RETRY_S: Final = 0.05
"""Between two looks for a pages process that is away."""

REFUSED_FOR_S: Final = 0.25
"""How long the pages process is not asked again about an address for which it had no place."""

PAGE_PLACES: Final = 256
PAGE_PLACES_PER_ADDRESS: Final = 64
"""Connections that a worker is handing over at the same time. More are refused at once: producers come first."""

API_PLACES: Final = 256
API_PLACES_PER_ADDRESS: Final = 64
"""The same of those on which a route of the API is asked for: `/metrics` and staff's routes do not wait for pages."""

HEAD: Final = struct.Struct("!?I")
"""What a message begins with: whether the first request is for the API, and how many bytes follow."""


_VERDICT: Final = "taskq.hand_over"


class Verdict(Enum):
    """What the pages process says of a connection: one byte."""

    TAKEN = b"T"
    BUSY = b"B"
    """It has no place for this address; the worker refuses the request."""
    AWAY = b""
    """It has not taken the connection, and will not."""


class PagesClient:
    """Passes connections to the pages process that listens at `path`."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._places = {
            False: Places(total=PAGE_PLACES, per_address=PAGE_PLACES_PER_ADDRESS),
            True: Places(total=API_PLACES, per_address=API_PLACES_PER_ADDRESS),
        }
        self._refused: set[tuple[bool, str]] = set()
        self._away_since: float | None = None
        self._missed_at = 0.0
        self._lookout: asyncio.Task[bool] | None = None

    async def hand_over(self, client: socket.socket, data: bytes, *, address: str, is_api: bool) -> Verdict:
        """Pass the socket `client`, on which `data` was read already. The caller keeps its own descriptor."""
        places, holder = self._places[is_api], object()
        if (is_api, address) in self._refused or not places.take(address, holder):
            return Verdict.BUSY
        message = HEAD.pack(is_api, len(data)) + data
        until = monotonic() + PATIENCE_S
        try:
            verdict = await self._offer(client, message, until)
            while verdict is Verdict.AWAY and monotonic() < until and await self._comes_back():
                verdict = await self._offer(client, message, until)
        finally:
            places.give_back(address, holder)
        if verdict is not Verdict.AWAY:
            self._away_since = None
        if verdict is Verdict.BUSY:
            self._refused.add((is_api, address))
            asyncio.get_running_loop().call_later(REFUSED_FOR_S, self._refused.discard, (is_api, address))
        return verdict

    async def _offer(self, client: socket.socket, message: bytes, until: float) -> Verdict:
        loop = asyncio.get_running_loop()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
            channel.setblocking(False)
            try:
                channel.connect(self._path)
                sent = socket.send_fds(channel, [message], [client.fileno()])
                try:
                    async with asyncio.timeout(until - monotonic()):
                        if sent < len(message):  # else it may be confirmed, and the other end closed, by now
                            await loop.sock_sendall(channel, memoryview(message)[sent:])
                        return Verdict(await loop.sock_recv(channel, 1))
                except TimeoutError:
                    channel.shutdown(socket.SHUT_RD)  # from now on the confirmation cannot be sent; was it before?
                    return Verdict(channel.recv(1))
            except OSError:
                return Verdict.AWAY

    async def _comes_back(self) -> bool:
        """Wait for it; one looks for all. Those that come when it has been away for long are told at once."""
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
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
                channel.setblocking(False)
                try:
                    channel.connect(self._path)
                except OSError:
                    continue
                return True
        return False


class WorkerMiddleware(ApiMiddleware):
    """The ASGI application of a worker: the API's fast path. Connections for anything else go to the pages process."""

    def __init__(self, fast_path: FastPath, pages: PagesClient) -> None:
        super().__init__(_answer_not_taken, fast_path=fast_path)
        self._fast_path: FastPath = fast_path
        self._pages = pages

    def serves(self, scope: Scope) -> bool:
        """Whether the fast path does; `__call__` need not look for the route again."""
        found = scope[FOUND] = self._fast_path.find(scope)
        return found is not None

    async def hand_over(self, scope: Scope, client: socket.socket, data: bytes) -> bool:
        """Pass the connection of a request that is not served here. False: the request has to be refused."""
        if scope["path"] == METRICS_PATH:
            flush()  # the other process is asked what this one has counted up to now
        address = scope["client"][0] if scope["client"] else ""
        verdict = await self._pages.hand_over(client, data, address=address, is_api=is_api_to_django(scope))
        scope[_VERDICT] = verdict
        return verdict is Verdict.TAKEN


async def _answer_not_taken(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await answer_lifespan(receive, send)
    else:
        await answer_error(scope, send, BUSY if scope.get(_VERDICT) is Verdict.BUSY else STARTING)
