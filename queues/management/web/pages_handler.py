"""Django's request cycle for pages, each request in a thread of a small pool from its beginning to its end.

Under Django's own ASGI handler a page of synchronous middleware and views begins a thread, opens a connection to the
database there, and closes both: two thirds of what a live section of a page took.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import IO, Any, Final

from asgiref.sync import sync_to_async
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.db.backends.signals import connection_created
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix

from queues.api.asgi_types import Receive, Scope

THREADS: Final = 16
"""Pages that are made at the same time; most wait for Redis or the database. More of them wait for their turn."""

CONNECTION_KEPT_S: Final = 10.0
"""How old a thread's connection to the database may get; Django would close it after each request."""

_NAME: Final = "taskq-page"


class PagesHandler(ASGIHandler):
    """ASGI. A client that goes does not end the work on its page, which is short."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)  # not the next class's: it would make the middleware asynchronous
        self.load_middleware(is_async=False)
        self._threads = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix=_NAME)
        connection_created.connect(_keep_connection)

    async def __call__(self, scope: Scope, receive: Receive, send: Any) -> None:
        try:
            body_file = await self.read_body(receive)
        except RequestAborted:
            return
        with body_file:
            respond = asyncio.get_running_loop().run_in_executor(self._threads, self._respond, scope, body_file)
            response = await respond
            await self.send_response(response, send)
            if response.streaming:
                await sync_to_async(response.close)()

    async def wait_for_turn(self) -> None:
        """Until a thread is free."""
        await asyncio.get_running_loop().run_in_executor(self._threads, _nothing)

    def _respond(self, scope: Scope, body_file: IO[bytes]) -> HttpResponseBase:
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=type(self), scope=scope)
        request, refusal = self.create_request(scope, body_file)
        response = self.get_response(request) if request is not None else refusal
        assert response is not None, "one of the two"
        if not response.streaming:
            response.close()  # here, where the database was used: Django looks after its connection now
        return response


def _nothing() -> None:
    """To do in a thread."""


def _keep_connection(connection: Any, **_kwargs: object) -> None:
    """Only those of the pool's threads: others have uses of their own for an end of the connection."""
    if threading.current_thread().name.startswith(_NAME):
        connection.close_at = monotonic() + CONNECTION_KEPT_S
