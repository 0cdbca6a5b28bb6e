"""What stands in front of Django: request ids, bodies read late and within bounds, the fast path, the access log."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from .accesslog import ACCESS_LOG
from .asgi_types import Application, Receive, Scope, Send
from .body import RequestBody
from .fast_path import FastPath
from .log_paths import loggable_path
from .proxies import TRUSTED_PROXIES
from .request import Headers
from .request_ids import HEADER, choose_request_id
from .router import decode_segment
from .routes import ROUTES
from .stopping import stop_waiting

SCOPE_KEY: Final = "taskq"
METRICS_PATH: Final = "/metrics"
FOUND: Final = "taskq.found"
"""In the scope: what the fast path's `find` answered, if the server has asked before."""

_OWN: Final = frozenset(route.path.split("/")[1] for route in ROUTES)
"""First segments of the paths that are ours. Bodies of all others (the admin's forms) are Django's business."""


class RequestState:
    """What `ApiMiddleware` knows of a request; in the scope under SCOPE_KEY."""

    __slots__ = ("body", "headers", "request_id")

    def __init__(self, request_id: bytes, headers: Headers, body: RequestBody) -> None:
        self.request_id = request_id
        self.headers = headers
        self.body = body


class ApiMiddleware:
    """An ASGI application around another. Without `fast_path` the other one gets every request."""

    def __init__(self, application: Application, *, fast_path: FastPath | None) -> None:
        self._application = application
        self._fast_path = fast_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        ACCESS_LOG.refresh_if_due()
        started = time.perf_counter() if ACCESS_LOG.enabled else 0.0
        headers = Headers(scope["headers"])
        if TRUSTED_PROXIES is not None:
            TRUSTED_PROXIES.restore_client(scope, headers)
        request_id = choose_request_id(headers.first.get(HEADER))
        body = RequestBody(scope["http_version"], headers, receive)
        status = 0
        try:
            found = scope.get(FOUND)
            if found is None and self._fast_path is not None:
                found = self._fast_path.find(scope)
            if self._fast_path is not None and found is not None:
                status = await self._fast_path.serve(found, scope, headers, body, request_id, send)
            else:
                status = await self._pass_on(scope, headers, body, request_id, receive, send)
        finally:
            if started:
                _log(scope, status, started, request_id)

    def stop_waiting(self, loop: asyncio.AbstractEventLoop) -> None:
        """A graceful stop begins: answer the consumers that wait on this loop."""
        stop_waiting(loop)

    async def _pass_on(
        self, scope: Scope, headers: Headers, body: RequestBody, request_id: bytes, receive: Receive, send: Send
    ) -> int:
        """To the application behind. Returns the status that it answered; 0: the client went away before."""
        own = is_own(scope)
        scope[SCOPE_KEY] = RequestState(request_id, headers, body)
        status = 0

        async def send_with_id(message: dict[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (HEADER, request_id)]
                if own:
                    await body.drain()
            await send(message)

        await self._application(scope, body.receive_for_django if own else receive, send_with_id)
        return status


def is_own(scope: Scope) -> bool:
    """Whether the path is the API's. Its first segment is decoded as the router does: to it, `/%61pi` is `/api`."""
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    return path.startswith(b"/") and decode_segment(path.split(b"/", 2)[1]) in _OWN


def is_api_to_django(scope: Scope) -> bool:
    """The same of the path as Django knows it: decoded, so that `/api%2Fx` is the API's, too."""
    return is_own(scope) or any(first in _OWN for first in scope["path"].split("/", 2)[1:2])


def _log(scope: Scope, status: int, started: float, request_id: bytes) -> None:
    """Status 0: the client went away before there was one."""
    client = scope.get("client")
    ACCESS_LOG.write(
        method=scope["method"],
        path=loggable_path(scope["method"], scope.get("raw_path") or scope["path"].encode()),
        status=status,
        duration_ms=(time.perf_counter() - started) * 1000,
        client=client[0] if client else "",
        request_id=request_id.decode("ascii"),
    )
