"""The pages process: the Django site on a Unix socket, for the workers' forwarders."""

from __future__ import annotations

import asyncio
import os
import signal
from functools import partial
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Final, cast

import uvicorn
from django.core.handlers.asgi import ASGIHandler

from queues.api.asgi import ApiGate, is_api_to_django
from queues.api.asgi_types import Application, Receive, Scope, Send
from queues.api.lifespan import answer_lifespan
from queues.api.metrics.process import count_together

from . import origin
from .pages_handler import PagesHandler
from .pages_process import SOCKET
from .server import IDLE_MAX_S, BeatingServer, allow_open_files, configure, note_stop, set_aside_what_stays

NICENESS: Final = 10
"""Publishing goes first where processors are few."""


THREADS_BUSY_MAX_S: Final = 20.0
"""When no thread has been free for so long, the process does not work; it is replaced a little later."""


def serve_pages(directory: Path) -> None:
    """Serve on the socket in `directory` until SIGTERM. Ctrl-C is for the main process, which needs this one longer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    allow_open_files()
    config = configure(
        partial(_load, directory),
        uds=str(directory / SOCKET),
        date_header=False,
        timeout_keep_alive=2 * IDLE_MAX_S,  # how long clients may be silent is for the workers to say
    )
    server = _Server(config)
    config.load()
    signal.signal(signal.SIGTERM, partial(note_stop, server))  # until now it ended this process at once
    os.nice(NICENESS)  # not before: somebody may wait for it to begin
    server.run()


class _Server(BeatingServer):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._turn: asyncio.Task[None] | None = None
        self._asked_at = 0.0

    def is_well(self) -> bool:
        """Whether a thread for pages was free a while ago."""
        if self._turn is None or self._turn.done():
            self._turn = asyncio.create_task(self.config.loaded_app.wait_for_turn())
            self._asked_at = monotonic()
        return monotonic() - self._asked_at < THREADS_BUSY_MAX_S

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig != signal.SIGINT:
            super().handle_exit(sig, frame)


class _Site:
    """What Django serves: the API's routes on the event loop, as their views are asynchronous, pages in threads."""

    def __init__(self) -> None:
        self._api = cast(Application, ASGIHandler())
        self._pages = PagesHandler()

    async def wait_for_turn(self) -> None:
        """As a page would."""
        await self._pages.wait_for_turn()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await answer_lifespan(receive, send)
        else:
            await (self._api if is_api_to_django(scope) else cast(Application, self._pages))(scope, receive, send)


class _Front:
    """In front of the gate, so that all behind it know the client, not the forwarder."""

    def __init__(self) -> None:
        self._site = _Site()
        self._gate = ApiGate(self._site, fast_lane=None, logs=False)

    async def wait_for_turn(self) -> None:
        """Until a thread for pages is free."""
        await self._site.wait_for_turn()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            origin.restore(scope)
        await self._gate(scope, receive, send)


def _load(directory: Path) -> Application:
    application = _Front()
    count_together(directory, is_worker=False)
    set_aside_what_stays()
    return application
