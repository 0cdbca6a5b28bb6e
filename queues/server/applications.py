"""The ASGI applications: `Site`, which Django serves, and `WorkerMiddleware`, which hands pages to another process.

Django must be set up before this module is imported.
"""

from __future__ import annotations

import socket
from typing import Final, cast

from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.urls import get_resolver

from queues.api.asgi import FOUND, METRICS_PATH, ApiMiddleware, answer_lifespan, is_api_to_django
from queues.api.context import CONTEXT
from queues.api.fast_path import FastPath
from queues.api.http.request import Application, Receive, Scope, Send
from queues.api.metrics.process import flush
from queues.api.routes import ROUTER

from .connection_sender import ConnectionSender, HandOverReply
from .error_pages import BUSY, STARTING, answer_error
from .pages_handler import PagesHandler

_VERDICT: Final = "taskq.hand_over"


class Site:
    """What Django serves: the API's routes on the event loop, as their views are asynchronous, and pages in threads."""

    def __init__(self) -> None:
        self._api = cast(Application, ASGIHandler())
        self.pages = PagesHandler()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await answer_lifespan(receive, send)
        else:
            await (self._api if is_api_to_django(scope) else cast(Application, self.pages))(scope, receive, send)


def make_api_middleware(site: Site) -> ApiMiddleware:
    """All that taskq serves: the API's fast path in front of the site. All views are imported, or the error raised."""
    # Django would import them at the first request, on the event loop if that is one of the API.
    _ = get_resolver().url_patterns
    return ApiMiddleware(site, fast_path=FastPath(ROUTER, CONTEXT) if settings.TASKQ_FAST_PATH else None)


class WorkerMiddleware(ApiMiddleware):
    """The ASGI application of a worker: the API's fast path. Connections for anything else go to the pages process."""

    def __init__(self, fast_path: FastPath, pages: ConnectionSender) -> None:
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
        return verdict is HandOverReply.TAKEN


async def _answer_not_taken(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await answer_lifespan(receive, send)
    else:
        await answer_error(scope, send, BUSY if scope.get(_VERDICT) is HandOverReply.BUSY else STARTING)
