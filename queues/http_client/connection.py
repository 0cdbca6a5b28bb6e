"""One connection: sends a request, reads its answer up to a bound, or says why there is none."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from time import monotonic
from typing import Final, cast

import httptools


class HttpFailure(StrEnum):
    """What kind of failure; stable words, for counting."""

    ADDRESS = "address_refused"
    LOOKUP = "lookup_failed"
    CONNECT = "connect_failed"
    TLS = "tls_failed"
    TIMEOUT = "timeout"
    CLOSED = "closed"
    PROTOCOL = "bad_response"
    RESOURCES = "out_of_resources"
    """Of this process or host, such as open files: it is not the receiver's fault."""


class HttpClientError(Exception):
    """There is no answer with a status. `str(error)` says why, for the owner of the URL."""

    def __init__(self, failure: HttpFailure, message: str) -> None:
        super().__init__(message)
        self.failure = failure


class StaleConnectionError(Exception):
    """A kept connection was closed before anything of the answer came: try another one."""


HEAD_MAX_BYTES: Final = 32 * 1024
"""Status line and headers of an answer; one with more is none."""

BODY_READ_BYTES: Final = 64 * 1024
BODY_READ_S: Final = 2.0
"""How much of the body of an answer is read, and for how long after its head. The status is known by then: the answer
counts, and the connection is closed."""

BODY_KEPT_BYTES: Final = 4 * 1024
HEADERS_KEPT: Final = 64


@dataclass(frozen=True, slots=True)
class Response:
    """An answer. `body`: the first BODY_KEPT_BYTES of it; `headers` in order, names in lower case."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str:
        """The first value of a header; "" if there is none."""
        return next((value for known, value in self.headers if known == name), "")


class Connection(asyncio.Protocol):
    """Carries one request at a time. `is_reusable` says whether another one may follow."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[Response] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_open = False
        self.opened_at = self.idle_since = monotonic()
        self.requests = 0
        self._start_answer()

    def _start_answer(self) -> None:
        self._reason = b""
        self._headers: list[tuple[str, str]] = []
        self._body = bytearray()
        self._head_bytes = 0
        self._body_bytes = 0
        self._status = 0
        """0 until the head is complete."""
        self._has_begun = self._is_complete = self._keeps_alive = False

    # asyncio calls these

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by its class
        self._is_open = True

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_open = False
        if self._answer is None or self._answer.done():
            return
        if self._status:  # the head was there; the body ends with the connection, or was cut off
            self._succeed()
        elif not self._has_begun and self.requests > 1:
            self._answer.set_exception(StaleConnectionError())
        else:
            self._fail(HttpFailure.CLOSED, "the connection was closed without an answer")

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            self.abort()  # nobody has asked
            return
        self._has_begun = True
        if not self._status:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._fail(HttpFailure.PROTOCOL, "the answer switches protocols")
        except httptools.HttpParserError:
            if self._status:
                self._succeed()
            else:
                self._fail(HttpFailure.PROTOCOL, "the answer is not HTTP/1.1")
            self.abort()
            return
        if self._is_complete:
            if not self._keeps_alive:
                self.abort()
            self._succeed()
        elif not self._status and self._head_bytes > HEAD_MAX_BYTES:
            self._fail(HttpFailure.PROTOCOL, f"the head of the answer is longer than {HEAD_MAX_BYTES // 1024} KiB")
        elif self._body_bytes > BODY_READ_BYTES:
            self.abort()
            self._succeed()

    def eof_received(self) -> None:
        """Closes: there is nothing more to say to one that has stopped talking."""

    # httptools calls these

    def on_status(self, status: bytes) -> None:
        self._reason += status[:100]

    def on_header(self, name: bytes, value: bytes | None) -> None:
        if len(self._headers) < HEADERS_KEPT:
            self._headers.append((name.decode("latin-1").lower(), (value or b"").decode("latin-1")))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:  # "continue", early hints: the answer follows
            return
        self._status = status
        self._keeps_alive = self._parser.should_keep_alive()
        if self._timer is not None:
            left = self._timer.when() - self._loop.time()
            if left > BODY_READ_S:
                self._timer.cancel()
                self._timer = self._loop.call_later(BODY_READ_S, self._on_time_up)

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        room = BODY_KEPT_BYTES - len(self._body)
        if room > 0:
            self._body += body[:room]

    def on_message_complete(self) -> None:
        if self._status:
            self._is_complete = True
        else:
            self._reason, self._headers = b"", []

    # the client calls these

    async def exchange(self, head: bytes, body: bytes, *, timeout_s: float) -> Response:
        """Send a request and return its answer. Raises HttpClientError, StaleConnectionError."""
        if not self.is_reusable:
            raise StaleConnectionError
        assert self._transport is not None
        self.requests += 1
        self._start_answer()
        answer = self._answer = self._loop.create_future()
        self._timer = self._loop.call_later(max(0.0, timeout_s), self._on_time_up)
        try:
            self._transport.write(head + body if len(body) < 65_536 else head)
            if len(body) >= 65_536:
                self._transport.write(body)
            response: Response = await answer
            return response
        except BaseException:
            self.abort()
            raise
        finally:
            self._timer.cancel()
            self._timer = None
            self._answer = None
            self.idle_since = monotonic()

    @property
    def is_reusable(self) -> bool:
        """Whether it is open and carries no request."""
        return self._is_open and self._answer is None and not self._is_closing()

    def _is_closing(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    def abort(self) -> None:
        """Close at once, whatever has not been sent."""
        if self._transport is not None:
            self._transport.abort()

    def _on_time_up(self) -> None:
        self.abort()
        if self._answer is None or self._answer.done():
            return
        if self._status:
            self._succeed()
        else:
            self._fail(HttpFailure.TIMEOUT, "no answer in time")

    def _succeed(self) -> None:
        if self._answer is not None and not self._answer.done():
            reason = self._reason.decode("latin-1")
            self._answer.set_result(Response(self._status, reason, tuple(self._headers), bytes(self._body)))

    def _fail(self, failure: HttpFailure, message: str) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(HttpClientError(failure, message))
