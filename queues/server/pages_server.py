"""The pages process: the Django site, on connections that workers hand over."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Final

import uvicorn

from queues.api.asgi import ApiMiddleware
from queues.api.metrics.process import count_together

from .applications import Site, make_api_middleware
from .connection_receiver import ConnectionReceiver, PagesConnection
from .server import IDLE_MAX_S, SOCKET, allow_open_files, configure, note_stop, set_aside_what_stays
from .uvicorn_workers import BeatingServer

logger = logging.getLogger(__name__)

NICENESS: Final = 10
"""Publishing goes first where processors are few."""


THREADS_BUSY_MAX_S: Final = 20.0
"""When no thread has been free for so long, the process does not work; it is replaced a little later."""


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
    middleware = make_api_middleware(site)
    count_together(directory, is_worker=False)
    set_aside_what_stays()
    return middleware
