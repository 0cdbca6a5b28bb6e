"""What Django serves: the API's routes on the event loop, as their views are asynchronous, and pages in threads."""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.urls import get_resolver

from queues.api.asgi import ApiMiddleware, answer_lifespan, is_api_to_django
from queues.api.context import CONTEXT
from queues.api.fast_path import FastPath
from queues.api.http.request import Application, Receive, Scope, Send
from queues.api.routes import ROUTER

from .pages_handler import PagesHandler


class Site:
    """An ASGI application."""

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
    return ApiMiddleware(site, fast_path=FastPath(ROUTER, CONTEXT) if settings.TASKQ_FAST_LANE else None)
