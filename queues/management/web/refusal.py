"""Answers that the server gives by itself, without asking the application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from queues.api.http.response import HEADER, choose_request_id

from .exchange import Exchange

if TYPE_CHECKING:
    from .connection import Connection

BAD_REQUEST: Final = (400, b"not an HTTP/1.1 request")
BAD_TARGET: Final = (400, b"not a request target; bytes that are not ASCII have to be percent-encoded")
HEAD_TOO_SLOW: Final = (408, b"the request took too long to arrive")
HEAD_TOO_LARGE: Final = (431, b"headers too large")
UNKNOWN_METHOD: Final = (501, b"method not implemented")
UNKNOWN_VERSION: Final = (505, b"HTTP version not supported")
UNKNOWN_BEGINNING: Final = (503, b"not done: send it again, after the answers to the requests before it")
"""A page is asked for right behind a chunked body, in the same bytes: where that request begins is not known."""

Reason = tuple[int, bytes]

_SCOPE: Final = {"method": "GET", "http_version": "1.1", "path": "", "headers": ()}


class RefusedError(Exception):
    """Raised while a request's head is looked at; `reason` is what its client will be told."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


class Refusal(Exchange):
    """Takes the place of a request that is none. It is the last on its connection."""

    __slots__ = ("_reason",)

    def __init__(self, connection: Connection, reason: Reason) -> None:
        super().__init__(connection, _SCOPE, keep_alive=False)
        self.end()
        self._reason = reason

    async def run(self, _application: Any) -> None:
        """Tell the client what is wrong."""
        status, words = self._reason
        body = b'{"error":"%b"}' % words
        headers = (
            (b"content-type", b"application/json; charset=utf-8"),
            (HEADER, choose_request_id(None)),
            (b"content-length", b"%d" % len(body)),
            *(((b"retry-after", b"0"),) if status == 503 else ()),
        )
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})
