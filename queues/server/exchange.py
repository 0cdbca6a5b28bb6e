"""One HTTP request and its response: what ASGI's `receive` and `send` are made of."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final, Protocol

logger = logging.getLogger(__name__)

BUFFER_MAX: Final = 65_536
"""Bytes of a request body that wait to be asked for; then the client is read from no more."""

JOIN_PIECES_MAX: Final = 16_384
"""Bytes of a piece of a request body that is joined with those before it."""

JOIN_MAX: Final = 65_536
"""Bytes of an answer's body that are sent in one write with its head."""

_STATUS_LINES: Final[dict[int, bytes]] = {
    status: b"HTTP/1.1 %d %s\r\n" % (status, status.phrase.encode()) for status in HTTPStatus
}
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_WITHOUT_BODY: Final = frozenset({204, 304})
_OURS_TO_SAY: Final = frozenset({b"connection", b"transfer-encoding"})
_FRAMING: Final = frozenset({b"content-length", b"transfer-encoding"})
_FAILED: Final = b"Internal Server Error"
Headers = tuple[tuple[bytes, bytes], ...]
_FAILED_START: Final = {
    "type": "http.response.start",
    "status": 500,
    "headers": ((b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(_FAILED))),
}


def lines_of(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """As they are sent. Raises RuntimeError."""
    lines = b"".join([b"%b: %b\r\n" % header for header in headers])
    if not lines.count(b"\n") == lines.count(b"\r") == len(headers):
        raise RuntimeError("a line break in a header")
    return lines


_usual: Final = lru_cache(maxsize=64)(lines_of)


class Channel(Protocol):
    """What an exchange asks of the connection that it is on."""

    loop: asyncio.AbstractEventLoop
    is_full: bool
    held: bytes

    def write(self, data: bytes) -> None:
        """Send to the client, unless it has gone."""

    def default_headers(self) -> bytes:
        """Headers of every response, ready to be sent."""

    async def drain(self) -> None:
        """Wait until the client has taken what was written."""

    def pause_reading(self) -> None:
        """Take no more from the client."""

    def resume_reading(self) -> None:
        """Go on, unless enough requests wait already."""

    def note_answered(self, exchange: Exchange) -> None:
        """It is the turn of the next one."""

    async def dup_when_sent(self) -> socket.socket | None:
        """A descriptor of its own for the connection, when all that was written is sent. None: the client has gone."""

    def let_go(self) -> None:
        """Another process has the connection: close this one's end of it."""

    def close(self) -> None:
        """Close, once all that was written has been sent."""


class Exchange:
    """Tells the application of the request, and writes what it answers."""

    __slots__ = (
        "_body",
        "_chunked",
        "_connection",
        "_has_news",
        "_is_invited",
        "_left",
        "_more_body",
        "_reader",
        "_rest",
        "_scope",
        "_start",
        "is_answered",
        "is_begun",
        "is_gone",
        "keep_alive",
        "was_answered_at_once",
    )

    def __init__(self, connection: Channel, scope: dict[str, Any], keep_alive: bool) -> None:
        self._connection = connection
        self._scope = scope
        self.keep_alive = keep_alive
        """Whether the connection goes on after it."""
        self.is_begun = False
        """Whether a part of the answer has been written."""
        self.is_answered = False
        self.was_answered_at_once = False
        self.is_gone = False
        """Whether the client has hung up before it was answered."""
        self._is_invited = False
        self._body: bytes | bytearray = b""
        self._rest: deque[bytes] | None = None
        """Pieces of the body behind `_body`, if they are large: to join them takes longer than to hand over each."""
        self._more_body = True
        self._has_news = False
        self._reader: asyncio.Future[None] | None = None
        self._start: dict[str, Any] | None = None
        self._chunked = False
        self._left = 0

    async def run(self, application: Any) -> None:
        """Have the application answer. It must: if it does not, the client is told that it failed."""
        if self.is_gone:
            return  # or it was refused, before its turn came: it must do nothing
        try:
            await application(self._scope, self.receive, self.send)
        except Exception as error:
            self._log_failure(error)
        except BaseException:
            self._connection.close()
            raise
        if self.is_answered or self.is_gone:
            return
        self.keep_alive = False
        if self.is_begun:
            self._connection.close()  # so that the client sees that it is not whole
            return
        self._start = None
        await self.send(_FAILED_START)
        await self.send({"type": "http.response.body", "body": _FAILED})

    def _log_failure(self, error: Exception) -> None:
        from queues.api.log_paths import loggable_path  # needs Django, which a worker sets up after this module

        path = loggable_path(self._scope["method"], self._scope["raw_path"])
        logger.error("application failed", exc_info=error, extra={"action": "http.answer", "path": path})

    @property
    def is_awaited(self) -> bool:
        """Whether it is for the client to send more of the body, which it has been asked for if it wanted to be."""
        return self._more_body and (self._is_invited or not self._wants_invitation())

    @property
    def framing(self) -> tuple[tuple[bytes, bytes], ...]:
        """The headers that say where its body ends; () if it has none."""
        return tuple(header for header in self._scope["headers"] if header[0] in _FRAMING)

    def left_to_come(self) -> int:
        """Bytes of the body that have not come, when none of it has been taken; very many if it does not say."""
        length = dict(self.framing).get(b"content-length")
        return 1 << 62 if length is None else int(length) - len(self._body)

    def feed(self, piece: bytes) -> None:
        """A piece of the body has come. What nobody will ask for is thrown away."""
        if self.is_answered:
            return
        if not self._body:
            self._body = piece
        elif self._rest or len(piece) > JOIN_PIECES_MAX:
            if self._rest is None:
                self._rest = deque()
            self._rest.append(piece)
        else:
            if not isinstance(self._body, bytearray):
                self._body = bytearray(self._body)
            self._body += piece
        if len(self._body) > BUFFER_MAX or self._rest:
            self._connection.pause_reading()
        self._has_news = True
        if self._reader is not None:
            self._tell()

    def end(self) -> None:
        """The body is whole."""
        self._more_body = False
        self._has_news = True
        if self._reader is not None:
            self._tell()

    def reopen(self) -> None:
        """The body is not whole after all."""
        self._more_body = True
        self._has_news = bool(self._body)

    def hang_up(self) -> None:
        """The client has gone."""
        if not self.is_answered:
            self.is_gone = True
        self._tell()

    def _tell(self) -> None:
        """The application, if it is there to hear it."""
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    async def receive(self) -> dict[str, Any]:
        """ASGI: the next piece of the body, or that the client has gone or has been answered."""
        if self._more_body and not self._has_news:
            self._invite()
        while not (self._has_news or self.is_gone or self.is_answered):
            self._connection.resume_reading()
            self._reader = self._connection.loop.create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        self._has_news = False
        if self.is_gone or self.is_answered:
            return {"type": "http.disconnect"}
        body, self._body = self._body, b""
        if self._rest:
            self._body = self._rest.popleft()
            self._has_news = True
        return {"type": "http.request", "body": bytes(body), "more_body": self._more_body or self._has_news}

    def _invite(self) -> None:
        """Some clients send a body only when told to. A client that has sent a part of it need not be told."""
        if not (self._is_invited or self.is_begun or self.is_gone):
            if self._wants_invitation():
                self._connection.write(_CONTINUE)
            self._is_invited = True

    def _wants_invitation(self) -> bool:
        return self._scope["http_version"] == "1.1" and any(
            name == b"expect" and value.lower() == b"100-continue" for name, value in self._scope["headers"]
        )

    async def send(self, message: dict[str, Any]) -> None:
        """ASGI: the head, then the body. The head waits for the first piece of it, so that both are one write."""
        if self._connection.is_full:
            await self._connection.drain()
        if self.is_gone:
            return
        kind = message["type"]
        if kind == "http.response.start" and self._start is None:
            self._start = message
        elif kind == "http.response.body" and self._start is not None and not self.is_answered:
            self._send_body(self._start, message.get("body", b""), message.get("more_body", False))
            if self._connection.is_full:
                await self._connection.drain()  # what an application counts for its answer is in memory until then
        else:
            raise RuntimeError(f"{kind} does not fit here")

    def answer(self, status: int, usual: Headers, own: bytes, body: bytes) -> bool:
        """All at once, if it is an everyday one. Lower-case names; Content-Length is among them if due.

        `usual`: headers that other answers have, too. `own`: whole lines, of values in which there is no line break.
        """
        is_plain = self.keep_alive and not self._more_body and self._scope["method"] != "HEAD"
        if not is_plain or self.is_begun or self.is_gone or self._connection.is_full:
            return False
        connection = self._connection
        answer = b"".join((_STATUS_LINES[status], connection.default_headers(), _usual(usual), own, b"\r\n", body))
        self.is_begun = self.is_answered = self.was_answered_at_once = True
        connection.write(answer)
        if self._reader is not None:
            self._tell()
        connection.note_answered(self)
        return True

    def _send_body(self, start: dict[str, Any], body: bytes, more: bool) -> None:
        head = b"" if self.is_begun else self._head(start, None if more else len(body))
        if self._scope["method"] == "HEAD" or start["status"] in _WITHOUT_BODY:
            body = b""
        elif self._chunked:
            body = (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + (b"" if more else b"0\r\n\r\n")
        elif self._left >= 0:
            self._left -= len(body)
            if self._left < 0 or (self._left and not more):
                raise RuntimeError("the body is not as long as Content-Length says")
        self.is_begun = True
        if len(body) <= JOIN_MAX:
            self._connection.write(head + body)
        else:  # two writes cost less than another copy
            self._connection.write(head)
            self._connection.write(body)
        if not more:
            self.is_answered = True
            self._tell()
            self._connection.note_answered(self)

    def _head(self, start: dict[str, Any], size: int | None) -> bytes:
        """Status line and headers. Decides how the client will know where the body ends.

        `size` is that of the body when it is here already.
        """
        status = start["status"]
        default_headers = self._connection.default_headers()
        lines = [_STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status, default_headers]
        breaks = 2 + default_headers.count(b"\n")
        length: bytes | None = None
        for raw_name, value in start.get("headers", ()):
            name = raw_name.lower()
            if name == b"content-length":
                length = value
                if status == 204:
                    continue  # it has none, and must not say so
            elif name in _OURS_TO_SAY:
                self.keep_alive = self.keep_alive and b"close" not in value.lower()
                continue
            lines += (name, b": ", value, b"\r\n")
            breaks += 1
        self._chunked, self._left = False, -1
        if length is not None:
            self._left = int(length)
        elif status in _WITHOUT_BODY or self._scope["method"] == "HEAD":
            pass  # it is over with the head, whose sender may not know how long the body would be
        elif size is not None:
            self._left = size
            lines.append(b"content-length: %d\r\n" % size)
            breaks += 1
        else:
            self._chunked = self._scope["http_version"] == "1.1"
            if self._chunked:
                lines.append(b"transfer-encoding: chunked\r\n")
                breaks += 1
            else:
                self.keep_alive = False  # the end of the connection is the end of the body
        if self._more_body and not self.is_awaited:
            self.keep_alive = False  # nobody could tell whether the body is going to come
        if not self.keep_alive:
            lines.append(b"connection: close\r\n")
            breaks += 1
        lines.append(b"\r\n")
        head = b"".join(lines)
        if head.count(b"\n") != breaks or head.count(b"\r") != breaks:
            raise RuntimeError("a line break in a header")
        return head
