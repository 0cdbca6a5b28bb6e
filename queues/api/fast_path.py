"""The fast path: the routes of producers and consumers, and of probes, served without Django's request cycle.

It shares router, pipeline and operations with the DRF views, so both answer alike; a test sends the same
requests through both. What it leaves out is what such a request has no use for: middleware, sessions, view classes,
request and response objects, and the change of threads that some of these bring.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from queues.engine.constants import DISCARD_MAX_BYTES

from .context import ApiContext
from .http.body import RequestBody
from .http.errors import ApiError, ServerBusyError, StaffOnlyError, error_response
from .http.large_requests import LARGE_BYTES
from .http.request import ApiRequest, Headers, Scope, Send, parse_query
from .http.response import HEADER, ApiResponse
from .pipeline import answer, refuse_unrouted
from .router import STAFF, Route, Router

HAS_HUNG_UP: Final = "taskq.has_hung_up"
"""Extension of the ASGI scope: a function that answers whether the client has closed its end of the connection."""

ON_UNDELIVERED: Final = "taskq.on_undelivered"
"""Extension: a function that is given what to call if the client goes without having read the answer."""

ANSWER: Final = "taskq.answer"
"""Extension: a function that is given status, headers that many answers have, the lines of others, and body, and sends
them at once if it can."""

_NONE: Final[Mapping[str, Any]] = {}
_ID_ALONE: Final = b"%b: %%b\r\n" % HEADER
_ID_AND_LENGTH: Final = b"%bcontent-length: %%d\r\n" % _ID_ALONE
Found = tuple[Route, Mapping[str, str]]


class FastPath:
    """Serves what needs no user of Django's: all routes but those of staff. For any other `find` answers None."""

    def __init__(self, router: Router, context: ApiContext) -> None:
        self._router = router
        self._context = context

    def find(self, scope: Scope) -> Found | None:
        """The route, with its path parameters, if it is served here."""
        try:
            found = self._router.match(scope["method"], scope.get("raw_path") or b"")
        except ApiError:
            return None  # the Django views answer what is wrong
        return None if found[0].auth is STAFF else found

    async def serve(
        self, found: Found, scope: Scope, headers: Headers, body: RequestBody, request_id: bytes, send: Send
    ) -> int:
        """Answer a request. Returns the status; 0: the client went away before there was one."""
        route, path = found
        client = scope.get("client")
        address = client[0] if client else ""
        try:
            query = parse_query(scope["query_string"])
        except Exception as error:
            response = refuse_unrouted(
                error, method=route.method, raw_path=scope["raw_path"], client=address, request_id=request_id
            )
            return await _send(response, scope, body, request_id, send)
        request = _FastPathRequest(route.method, path, query, headers, address, request_id)
        request.scope = scope
        request.body = body
        try:
            response = await answer(route, request, self._context)
            request.release_memory()  # the body has gone, also where the rest of it is now thrown away
            if len(response.body) > LARGE_BYTES:
                response = _count_answer(response, request)
            return await _send(response, scope, body, request_id, send)
        except asyncio.CancelledError:
            if not body.client_gone:
                raise
            return 0
        finally:
            request.release_memory()


def _count_answer(response: ApiResponse, request: ApiRequest) -> ApiResponse:
    """The response, counted until its client has taken it; a refusal if it is too large for what memory is left."""
    try:
        request.take_memory(len(response.body))
    except ServerBusyError as error:
        if response.on_undelivered is not None:
            response.on_undelivered()
        return error_response(error)
    return response


async def _send(response: ApiResponse, scope: Scope, body: RequestBody, request_id: bytes, send: Send) -> int:
    """Send it and return its status. A large one has been taken by the client when this returns."""
    if not body.is_settled:
        await body.drain()
    status, payload, usual, on_undelivered = response
    if on_undelivered is not None:
        _expect_delivery(scope, on_undelivered)
    answer_at_once = scope.get("extensions", _NONE).get(ANSWER)
    if answer_at_once is not None and len(payload) <= LARGE_BYTES:
        own = (_ID_ALONE % request_id) if status == 204 else _ID_AND_LENGTH % (request_id, len(payload))
        if answer_at_once(status, usual, own, payload):
            return status
    all_headers = [*usual, (HEADER, request_id)]
    if status != 204:
        all_headers.append((b"content-length", b"%d" % len(payload)))
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": payload})
    return status


class _FastPathRequest(ApiRequest):
    """A request with its ASGI scope, and the body that is still to be read."""

    __slots__ = ("body", "scope")
    body: RequestBody
    scope: Scope

    async def read_body(self, limit: int) -> bytes | bytearray:
        body = await self.body.read(limit, limit, self.take_memory)
        assert body is not None, "a body is not dropped without an error"
        return body

    def read_or_discard_body(self, limit: int) -> Awaitable[bytes | bytearray | None]:
        return self.body.read(limit, DISCARD_MAX_BYTES, self.take_memory)

    async def check_staff(self, _permissions: Sequence[str]) -> Any:
        raise StaffOnlyError("authentication required")

    def skip_body(self) -> None:
        self.body.skip()

    def watch_client(self) -> AbstractContextManager[None]:
        return self.body.watched()

    async def check_client_connected(self) -> None:
        """Raise CancelledError if the client has disconnected.

        Our web server can ask the kernel, which knows earlier than the application is told. In between, a job could be
        sent to a closed connection, and be gone until its lease ends.
        """
        await asyncio.sleep(0)
        has_hung_up = self.scope.get("extensions", _NONE).get(HAS_HUNG_UP)
        if has_hung_up is not None and has_hung_up():
            self.body.client_gone = True
            raise asyncio.CancelledError


def _expect_delivery(scope: Scope, undo: Callable[[], None]) -> None:
    note = scope.get("extensions", _NONE).get(ON_UNDELIVERED)
    if note is not None:
        note(undo)
