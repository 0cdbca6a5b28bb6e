"""A response of the pages process as it is read: HTTP/1.1 in, ASGI messages out."""

from __future__ import annotations

from typing import Any, Final

import httptools

from queues.api.request_ids import HEADER as REQUEST_ID

_OF_ONE_HOP: Final = frozenset({b"connection", b"keep-alive", b"transfer-encoding", b"trailer", b"upgrade"})
_NOT_RELAYED: Final = _OF_ONE_HOP | {REQUEST_ID}  # which our own gate sets
_WITHOUT_BODY: Final = frozenset({204, 304})


class BrokenResponseError(Exception):
    """What the pages process answers ends too early, or is no HTTP."""


class RelayedResponse:
    """Feed it with what was read; it answers which messages that makes."""

    def __init__(self, method: str) -> None:
        self._parser: Any = httptools.HttpResponseParser(self)
        self._is_head = method == "HEAD"
        self._headers: list[tuple[bytes, bytes]] = []
        self._messages: list[dict[str, Any]] = []
        self.is_whole = False

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The messages of the next bytes; b"": there are no more of them. Raises BrokenResponseError."""
        if not data:
            raise BrokenResponseError("the response is not whole")
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            raise BrokenResponseError(str(error)) from error
        messages, self._messages = self._messages, []
        if messages and self.is_whole:
            messages[-1]["more_body"] = False
        return messages

    # What the parser tells.

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name not in _NOT_RELAYED:
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        self._messages.append({"type": "http.response.start", "status": status, "headers": self._headers})
        if self._is_head or status in _WITHOUT_BODY:
            self._end()  # whatever length it says that a body would have

    def on_body(self, piece: bytes) -> None:
        if not self.is_whole:
            self._messages.append({"type": "http.response.body", "body": piece, "more_body": True})

    def on_message_complete(self) -> None:
        if not self.is_whole:
            self._end()

    def _end(self) -> None:
        self.is_whole = True
        last = self._messages[-1] if self._messages else None
        if last is None or last["type"] != "http.response.body":
            self._messages.append({"type": "http.response.body", "body": b"", "more_body": True})
