"""The pages process: the Django site, on connections that workers hand over (`connection_sender`)."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Any, Final

import uvicorn
from uvicorn.config import Config
from uvicorn.server import ServerState

from queues.api.asgi import ApiMiddleware, is_own
from queues.api.metrics.process import count_together

from .applications import Site, make_api_middleware
from .connection import Connection
from .connection_sender import HEAD, ConnectionSlots, HandOverReply
from .exchange import Exchange
from .reader import DEAF
from .server import IDLE_MAX_S, SOCKET, allow_open_files, configure, note_stop, set_aside_what_stays
from .uvicorn_workers import BeatingServer

logger = logging.getLogger(__name__)

PAGE_CONNECTIONS: Final = 1_024
PAGE_CONNECTIONS_PER_ADDRESS: Final = 128
"""Connections that are open at the same time. A new one takes the place of one on which nothing is under way."""

API_CONNECTIONS: Final = 256
API_CONNECTIONS_PER_ADDRESS: Final = 64
"""The same of those that were handed over for a route of the API, as `/metrics` is one."""

BACKLOG: Final = 1_024
RECEIVE_TIMEOUT_S: Final = 5.0
"""How long a worker may take to pass what it has begun to pass."""

_PIECE: Final = 65_536
_CLOSE_ON_EXEC: Final = getattr(socket, "MSG_CMSG_CLOEXEC", 0)

NICENESS: Final = 10
"""Publishing goes first where processors are few."""

THREADS_BUSY_MAX_S: Final = 20.0
"""When no thread has been free for so long, the process does not work; it is replaced a little later."""


class PagesConnection(Connection):
    """A connection that a worker has handed over. `first`: what the worker had read of it.

    A request for the API is answered here, too, for a proxy may send requests of several clients on one connection; but
    it is the last one, unless more have come already, so that those after it get a worker again, which is faster.
    """

    __slots__ = ("_first", "_is_stopping", "_last", "_on_lost")

    def __init__(
        self, config: Config, state: ServerState, app_state: dict[str, Any], first: bytes, on_lost: Callable[[], None]
    ) -> None:
        super().__init__(config, state, app_state)
        self._first = first
        self._on_lost: Callable[[], None] | None = on_lost
        self._last: Exchange | None = None
        """After which the connection ends, although the client does not ask for that."""
        self._is_stopping = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        first, self._first = self._first, b""
        self.data_received(first)

    def has_slot(self) -> bool:
        """It was given one before the worker was told that it is taken: to refuse it now is too late."""
        return True

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        on_lost, self._on_lost, self._last = self._on_lost, None, None
        if on_lost is not None:
            on_lost()

    def take_up(self, scope: dict[str, Any], keep_alive: bool) -> Exchange:
        """As elsewhere, but the connection ends after a request for the API that is the last one so far."""
        if self._last is not None and not self._last.is_begun and not self._is_stopping:
            self._last.keep_alive = True
        exchange = super().take_up(scope, keep_alive)
        self._last = exchange if keep_alive and is_own(scope) else None
        if self._last is not None:
            exchange.keep_alive = False
        return exchange

    def shutdown(self) -> None:
        """As elsewhere."""
        self._is_stopping = True
        super().shutdown()

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way. The first one is, before the event loop has made the connection, too."""
        is_made = self._transport is not None
        return is_made and self.latest() is None and not self.is_in_head and self.incoming is None

    def _leave(self) -> None:
        """Also where the client may send more: it would not get its answer if that came to a closed connection."""
        self.parser = DEAF
        super()._leave()


class ConnectionReceiver:
    """Listens on a Unix socket. `make`: a connection of the bytes read before, and what to call at its end."""

    def __init__(self, path: Path, make: Callable[[bytes, Callable[[], None]], PagesConnection]) -> None:
        self._make = make
        self._slots = {
            False: ConnectionSlots(total=PAGE_CONNECTIONS, per_address=PAGE_CONNECTIONS_PER_ADDRESS),
            True: ConnectionSlots(total=API_CONNECTIONS, per_address=API_CONNECTIONS_PER_ADDRESS),
        }
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False
        path.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(BACKLOG)
        self._listener.setblocking(False)
        self._loop.add_reader(self._listener.fileno(), self._accept)

    def close(self) -> None:
        """Take no more. What has not been taken stays with its worker."""
        self._loop.remove_reader(self._listener.fileno())
        self._listener.close()
        self._is_closed = True

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                channel, _ = self._listener.accept()
                channel.setblocking(False)
                task = self._loop.create_task(self._serve(channel))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _serve(self, channel: socket.socket) -> None:
        """A message of a worker."""
        clients: list[socket.socket] = []
        try:
            async with asyncio.timeout(RECEIVE_TIMEOUT_S):
                message = await self._receive(channel, clients)
            if self._is_closed:
                return
            is_api, _size = HEAD.unpack_from(message)
            await self._take(channel, clients.pop(), bytes(message[HEAD.size :]), is_api=is_api)
        except (OSError, EOFError):
            pass  # the worker has gone or given up, and what it passed is still its own
        except Exception:
            logger.exception("connection not taken over", extra={"action": "pages.receive"})
        finally:
            for client in clients:
                client.close()
            channel.close()

    async def _receive(self, channel: socket.socket, clients: list[socket.socket]) -> bytearray:
        """A whole message; the descriptors that come with it are put into `clients`. Raises EOFError, OSError."""
        message = bytearray()
        while len(message) < HEAD.size or len(message) < HEAD.size + HEAD.unpack_from(message)[1]:
            try:
                piece, descriptors, _, _ = socket.recv_fds(channel, _PIECE, 1, _CLOSE_ON_EXEC)
            except BlockingIOError:
                await _wait_readable(self._loop, channel)
                continue
            clients += [socket.socket(fileno=descriptor) for descriptor in descriptors]
            if not piece:
                raise EOFError
            message += piece
        if not clients:
            raise EOFError
        return message

    async def _take(self, channel: socket.socket, client: socket.socket, data: bytes, *, is_api: bool) -> None:
        """Confirm a connection and serve it, or say that there is no slot for it."""
        slots = self._slots[is_api]
        try:
            name = client.getpeername()
            address = str(name[0]) if isinstance(name, tuple) else ""
            connection: PagesConnection = self._make(data, lambda: slots.give_back(address, connection))
            if not slots.has_room_for(address):
                _make_room(slots, address)
            if not slots.take(address, connection):
                channel.send(HandOverReply.BUSY.value)
                client.close()
                return
            try:
                channel.send(HandOverReply.TAKEN.value)
                client.setblocking(False)
                await self._loop.connect_accepted_socket(lambda: connection, client)
            except BaseException:
                slots.give_back(address, connection)
                raise
            if self._is_closed:
                connection.shutdown()
        except BaseException:
            client.close()
            raise


def _make_room(slots: ConnectionSlots, address: str) -> None:
    """Close the first connection on which nothing is under way of those that keep `address` from a slot."""
    for its_address, holder in slots.rivals(address):
        if isinstance(holder, PagesConnection) and holder.is_idle:
            slots.give_back(its_address, holder)
            holder.close()
            return


async def _wait_readable(loop: asyncio.AbstractEventLoop, channel: socket.socket) -> None:
    readable = asyncio.Event()
    loop.add_reader(channel.fileno(), readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(channel.fileno())


def serve_pages(directory: Path) -> None:
    """Serve what comes by the socket in `directory`, until SIGTERM or until a page cannot be stopped.

    Ctrl-C is for the main process, which needs this one longer.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    allow_open_files()
    site = Site()
    config = configure(partial(_load, directory, site), timeout_keep_alive=IDLE_MAX_S)
    server = _Server(config, directory / SOCKET, site)
    config.load()
    signal.signal(signal.SIGTERM, partial(note_stop, server))  # until now it ended this process at once
    os.nice(NICENESS)  # not before: somebody may wait for it to begin
    server.run()
    if server.is_stuck:
        logging.shutdown()
        os._exit(os.EX_TEMPFAIL)  # any other way to end waits for all threads


class _Server(BeatingServer):
    """Listens to nobody but the workers."""

    def __init__(self, config: uvicorn.Config, path: Path, site: Site) -> None:
        super().__init__(config)
        self.is_stuck = False
        self._path = path
        self._site = site
        self._receiver: ConnectionReceiver | None = None
        self._turn: asyncio.Task[None] | None = None
        self._asked_at = 0.0
        site.pages.on_stuck = self._end

    def is_well(self) -> bool:
        """Whether a thread for pages was free a while ago."""
        if self._turn is None or self._turn.done():
            self._turn = asyncio.create_task(self._site.pages.wait_for_turn())
            self._asked_at = monotonic()
        return monotonic() - self._asked_at < THREADS_BUSY_MAX_S

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=[])
        self._receiver = ConnectionReceiver(self._path, self._make)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._receiver is not None:
            self._receiver.close()
        await super().shutdown(sockets=[])

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig != signal.SIGINT:
            super().handle_exit(sig, frame)

    def _make(self, first: bytes, on_lost: Callable[[], None]) -> PagesConnection:
        return PagesConnection(self.config, self.server_state, self.lifespan.state, first, on_lost)

    def _end(self) -> None:
        if not self.is_stuck:
            logger.warning("pages do not end; the process does, and is started again", extra={"action": "pages.stuck"})
        self.is_stuck = self.should_exit = True


def _load(directory: Path, site: Site) -> ApiMiddleware:
    gc.disable()  # until all is loaded, as in a worker
    middleware = make_api_middleware(site)
    count_together(directory, is_worker=False)
    set_aside_what_stays()
    return middleware
