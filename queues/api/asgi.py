"""What stands in front of Django: request ids, bodies read late and within bounds, the access log, a graceful stop."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from .accesslog import ACCESS_LOG
from .body import Message, Receive, RequestBody
from .request_ids import HEADER, choose_request_id
from .routes import ROUTES
from .stopping import stop_waiting_on_signal

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

SCOPE_KEY: Final = "taskq"
_OWN: Final = frozenset(route.path.split("/")[1].encode() for route in ROUTES)
"""First segments of the paths that are ours. Bodies of all others (the admin's forms) are Django's business."""


class RequestState:
    """What the gate knows of a request; in the scope under SCOPE_KEY."""

    __slots__ = ("body", "request_id")

    def __init__(self, request_id: str, body: RequestBody) -> None:
        self.request_id = request_id
        self.body = body


class ApiGate:
    """An ASGI application around another."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
            return
        if scope["type"] == "lifespan":
            stop_waiting_on_signal()
        await self._application(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        headers = scope["headers"]
        sent_id = next((value for name, value in headers if name == HEADER), b"")
        request_id = choose_request_id(sent_id)
        body = RequestBody(scope["http_version"], headers, receive)
        own = _first_segment(scope) in _OWN
        scope[SCOPE_KEY] = RequestState(request_id.decode("ascii"), body)
        status = 0

        async def send_with_id(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (HEADER, request_id)]
                if own:
                    await body.drain()
            await send(message)

        try:
            await self._application(scope, body.receive_for_django if own else receive, send_with_id)
        finally:
            if ACCESS_LOG.enabled:
                _log(scope, status, started, request_id)


def _first_segment(scope: Scope) -> bytes:
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    return path.split(b"/", 2)[1] if path.startswith(b"/") else b""


def _log(scope: Scope, status: int, started: float, request_id: bytes) -> None:
    """Status 0: the client went away before there was one."""
    client = scope.get("client")
    ACCESS_LOG.write(
        method=scope["method"],
        path=scope["path"],
        status=status,
        duration_ms=(time.perf_counter() - started) * 1000,
        client=client[0] if client else "",
        request_id=request_id.decode("ascii"),
    )


__all__ = ["SCOPE_KEY", "ApiGate", "Message", "RequestState"]
