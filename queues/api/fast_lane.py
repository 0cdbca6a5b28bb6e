"""The fast lane: the routes of producers and consumers, and of probes, served without Django's request cycle.

It takes the same way as the DRF door (router, pipeline, operations), so both answer alike; a test sends the same
requests through both. What it leaves out is what such a request has no use for: middleware, sessions, view classes,
request and response objects, and the change of threads that some of these bring.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from .asgi_types import Scope, Send
from .body import RequestBody
from .context import ApiContext
from .errors import ApiError, StaffOnlyError
from .pipeline import answer, refuse_unrouted
from .query import parse_query
from .request import ApiRequest, Headers
from .request_ids import HEADER
from .response import ApiResponse, Header
from .route import Door, Route
from .router import Router

HAS_HUNG_UP: Final = "taskq.has_hung_up"
"""Extension of the ASGI scope: a function that answers whether the client has closed its end of the connection."""

IF_NOT_TAKEN: Final = "taskq.if_not_taken"
"""Extension: a function that is given what to call should the client go without having taken the answer."""

ANSWER: Final = "taskq.answer"
"""Extension: a function that is given status, headers that many answers have, others, and body, and sends them at once
if it can."""

_NONE: Final[Mapping[str, Any]] = {}
Found = tuple[Route, Mapping[str, str]]


class FastLane:
    """Serves what needs no user of Django's: all routes but those of staff. For any other `find` answers None."""

    def __init__(self, router: Router, context: ApiContext) -> None:
        self._router = router
        self._context = context

    def find(self, scope: Scope) -> Found | None:
        """The route, with its path parameters, if it is served here."""
        try:
            found = self._router.match(scope["method"], scope.get("raw_path") or b"")
        except ApiError:
            return None  # the other door says what is wrong
        return None if found[0].door is Door.STAFF else found

    async def serve(
        self, found: Found, scope: Scope, headers: Headers, body: RequestBody, request_id: bytes, send: Send
    ) -> int:
        """Answer a request. Returns the status; 0: the client went away before there was one."""
        route, path = found
        client = scope.get("client")
        address = client[0] if client else ""
        request_name = request_id.decode("ascii")
        try:
            query = parse_query(scope["query_string"])
        except Exception as error:
            response = refuse_unrouted(
                error, method=route.method, path=scope["path"], client=address, request_id=request_name
            )
        else:
            request = ApiRequest(
                method=route.method,
                path=path,
                query=query,
                headers=headers,
                read_body=body.read,
                check_staff=_no_staff_here,
                skip_body=body.skip,
                client=address,
                watch_client=body.watched,
                hear_client=partial(_hear, scope, body),
                request_id=request_name,
            )
            try:
                response = await answer(route, request, self._context)
            except asyncio.CancelledError:
                if not body.client_gone:
                    raise
                return 0
        if not body.is_settled:
            await body.drain()
        if response.if_not_taken is not None:
            _mind(scope, response.if_not_taken)
        own = _headers(response, request_id)
        answer_at_once = scope.get("extensions", _NONE).get(ANSWER)
        if answer_at_once is None or not answer_at_once(response.status, response.headers, own, response.body):
            all_headers = [*response.headers, *own]
            await send({"type": "http.response.start", "status": response.status, "headers": all_headers})
            await send({"type": "http.response.body", "body": response.body})
        return response.status


async def _hear(scope: Scope, body: RequestBody) -> None:
    """Before a job is sent to somebody who waited. Raises CancelledError if there is nobody any more.

    Our web server can say what the kernel knows already, which it would tell the application a little later: just the
    time in which a job may be sent to nobody, and be gone until its lease ends.
    """
    await asyncio.sleep(0)
    has_hung_up = scope.get("extensions", {}).get(HAS_HUNG_UP)
    if has_hung_up is not None and has_hung_up():
        body.client_gone = True
        raise asyncio.CancelledError


def _mind(scope: Scope, undo: Callable[[], None]) -> None:
    note = scope.get("extensions", {}).get(IF_NOT_TAKEN)
    if note is not None:
        note(undo)


def _headers(response: ApiResponse, request_id: bytes) -> tuple[Header, ...]:
    """Those that the door adds."""
    if response.status == 204:
        return ((HEADER, request_id),)
    return ((HEADER, request_id), (b"content-length", b"%d" % len(response.body)))


async def _no_staff_here(permissions: Sequence[str]) -> Any:
    raise StaffOnlyError("authentication required")
