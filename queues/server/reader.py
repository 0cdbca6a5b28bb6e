"""What a client sends, read by llhttp (through httptools) and made into exchanges."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import httptools

from .exchange import Exchange
from .request_head import (
    BAD_REQUEST,
    BAD_TARGET,
    EMPTY_SCOPE,
    HEAD_TOO_LARGE,
    HEAD_TOO_SLOW,
    UNKNOWN_BEGINNING,
    UNKNOWN_METHOD,
    UNKNOWN_VERSION,
    Reason,
    RefusedError,
    decode_path,
    split_target,
)

HEAD_MAX: Final = 65_536
"""Bytes of a request's target and headers; also of what may come between two pieces of a body, or after the last."""

HEAD_MAX_S: Final = 10.0
"""How long a request's target and headers may take to come, from their first byte on."""

HEADERS_MAX: Final = 256
"""Headers of a request."""

PIECE_MAX: Final = 16_384
"""Bytes that are parsed at once: no more than some hundred of the shortest requests."""

BODY_PIECE_MAX: Final = HEAD_MAX
"""The same of a body whose length is known. The C library maps buffers that are twice as large into memory one by one,
which costs more than all copying (`server.MMAP_THRESHOLD_BYTES`). No more than HEAD_MAX: see `_note_unfinished`."""

_UNKNOWN: Final = -1
_ENDLESS: Final = 1 << 62
_LENGTH_MAX: Final = 1 << 48
"""A body that has more to come does not say how long it is."""


class NotServedError(Exception):
    """Raised when a request's head is read that another process serves."""

    def __init__(self, scope: dict[str, Any]) -> None:
        super().__init__(scope["path"])
        self.scope = scope


_NOWHERE: Final[deque[tuple[bytes, bytes]]] = deque(maxlen=0)


class Reader(asyncio.Protocol):
    """The half of a connection that listens. The other half says what becomes of what was heard."""

    __slots__ = (
        "_bare_bytes",
        "_body_left",
        "_counted",
        "_early",
        "_head_bytes",
        "_headers",
        "_heads",
        "_heads_before",
        "_url",
        "address",
        "client",
        "extensions",
        "heard_at",
        "held",
        "incoming",
        "is_in_head",
        "loop",
        "parser",
        "serves",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.parser: Any = httptools.HttpRequestParser(self)
        self.client: tuple[str, int] | None = None
        self.address: tuple[str, int] | None = None
        self.extensions: dict[str, Any] = {}
        self.incoming: Exchange | None = None
        """What is being sent, when its head is here."""
        self.held = b""
        """What waits to be read until there is room for more requests."""
        self.heard_at = 0.0
        """When something came that was not the end, by the loop's clock."""
        self.is_in_head = False
        self.serves: Callable[[dict[str, Any]], bool] | None = None
        """Whether a request is served here; others are given to `hand_over`. None: all are."""
        self._heads = 0
        """Requests whose heads have been read."""
        self._heads_before = 0
        """The same where `_early` begins, or the last data if that is empty."""
        self._early: bytes | bytearray = b""
        """The data since the parser was last between two requests, if it is in a head now."""
        self._body_left = _ENDLESS
        """Bytes of `incoming` that are still to come, if it did not come at once and says how long it is."""
        self._counted = 0
        """`_body_left` is that of the request with this number."""
        self._head_bytes = 0
        self._bare_bytes = 0
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] | deque[tuple[bytes, bytes]] = []

    # What the other half does.

    def take_up(self, scope: dict[str, Any], keep_alive: bool) -> Exchange:
        """A request's head is here."""
        raise NotImplementedError

    def refuse(self, reason: Reason) -> None:
        """What came is no request."""
        raise NotImplementedError

    def hand_over(self, scope: dict[str, Any], data: bytes) -> None:
        """The request whose head was read is not served here. `data`: it, from its beginning on, and what follows."""
        raise NotImplementedError

    def is_crowded(self) -> bool:
        """Whether enough requests wait."""
        raise NotImplementedError

    def latest(self) -> Exchange | None:
        """The request that was taken up last, if it has not been answered."""
        raise NotImplementedError

    # What the event loop tells.

    def data_received(self, data: bytes) -> None:
        if len(data) > PIECE_MAX and len(data) > self._piece_max():
            self._take_by_pieces(data)
            return
        if self.incoming is not None:
            if self._body_left < len(data):
                self._take_by_pieces(data)
                return
            self._early, self._heads_before = b"", _UNKNOWN
        elif not self.is_in_head:
            self._early, self._heads_before = b"", self._heads
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            rest = data[upgrade.args[0] :]
        except httptools.HttpParserInvalidMethodError:
            self.refuse(UNKNOWN_METHOD if data[:1].isalpha() else BAD_REQUEST)
            return
        except httptools.HttpParserInvalidURLError:
            self.refuse(BAD_TARGET)
            return
        except httptools.HttpParserError as error:
            cause = error.__context__
            if isinstance(cause, NotServedError):
                self._find_beginning(cause.scope, data)
            else:
                self.refuse(cause.reason if isinstance(cause, RefusedError) else BAD_REQUEST)
            return
        else:
            if self.is_in_head or self.incoming is not None:
                self._note_unfinished(data)
            return
        self._stay(rest)  # not while the exception is handled: it would become the context of those to come

    # What the parser tells.

    def on_message_begin(self) -> None:
        self.is_in_head = True
        self._head_bytes = -1  # unknown while it is all in one piece of data, which is small
        self._url = b""
        self._headers = []

    def on_url(self, piece: bytes) -> None:
        self._url += piece

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value.rstrip(b" \t")))  # which the parser does at the front only

    def on_headers_complete(self) -> None:
        self.is_in_head = False
        headers = self._headers
        self._headers = _NOWHERE  # where trailers go: they must not be taken for headers, and nobody wants them
        if self.incoming is not None:
            return  # the made-up head of `_stay`
        if self._head_bytes >= 0 or len(headers) > HEADERS_MAX:
            self._check_size(headers)
        parser = self.parser
        version = parser.get_http_version()
        if version != "1.1" and version != "1.0":
            raise RefusedError(UNKNOWN_VERSION)
        path, query = split_target(self._url)
        scope = EMPTY_SCOPE.copy()
        scope["http_version"] = version
        scope["method"] = parser.get_method().decode("ascii")
        scope["path"] = decode_path(path)
        scope["raw_path"] = path
        scope["query_string"] = query
        scope["headers"] = headers
        scope["client"] = self.client
        scope["server"] = self.address
        scope["extensions"] = self.extensions
        if self.serves is not None and not self.serves(scope):
            raise NotServedError(scope)
        self._heads += 1
        self.incoming = self.take_up(scope, version == "1.1" and parser.should_keep_alive())

    def on_body(self, piece: bytes) -> None:
        self._bare_bytes = 0
        if self.incoming is not None:
            self.incoming.feed(piece)

    def on_message_complete(self) -> None:
        if self.incoming is not None:
            self.incoming.end()
            self.incoming = None

    def _take_by_pieces(self, data: bytes) -> None:
        """What would be too many requests at once is held back until some are answered.

        A body that came in several pieces ends with a piece, if its length is known: see `_find_beginning`.
        """
        at = 0
        while at < len(data):
            if self.is_crowded():
                self.held += data[at:]
                return
            size = self._piece_max()
            self.data_received(data[at : at + size])
            at += size

    def _piece_max(self) -> int:
        """How much of what comes next is parsed at once."""
        if self.incoming is None:
            return PIECE_MAX
        is_known = self._counted == self._heads and self._body_left < _LENGTH_MAX
        return min(BODY_PIECE_MAX if is_known else PIECE_MAX, self._body_left)

    def _find_beginning(self, scope: dict[str, Any], data: bytes) -> None:
        """Hand over the request whose head ended in `data`, where other requests may stand before and behind it.

        The parser does not say where a request begins, so the shortest beginning of the data is looked for that holds
        all requests before it. That takes data which begin with a request; others begin in a chunked body.
        """
        if self._heads_before == _UNKNOWN:
            self.refuse(UNKNOWN_BEGINNING)
        else:
            self.hand_over(scope, self._without_earlier(bytes(self._early) + data))

    def _without_earlier(self, data: bytes) -> bytes:
        """`data`, which begins with a request, from the first one on whose head has not been read."""
        whole = self._heads - self._heads_before
        return data[bisect_left(range(len(data)), whole, key=lambda size: _count_requests(data[:size])) :]

    def _stay(self, rest: bytes) -> None:
        """The client would like another protocol, and may speak this one. The parser has left out the request's body.

        That is read by another parser, which is told of it by a head that we make up.
        """
        exchange = self.latest()
        framing = () if exchange is None else exchange.framing
        if exchange is not None and framing:
            exchange.reopen()
            self.incoming = exchange
            self._body_left = _ENDLESS
            self.parser = httptools.HttpRequestParser(self)
            lines = b"".join([b"%b: %b\r\n" % header for header in framing])
            try:
                self.parser.feed_data(b"POST / HTTP/1.1\r\n%b\r\n" % lines)
            except httptools.HttpParserError:  # the first parser looks at the framing only when it reads the body
                self.refuse(BAD_REQUEST)
                return
        if rest:
            self.data_received(rest)

    def _note_unfinished(self, data: bytes) -> None:
        """These bytes have come, and it is not over."""
        if self.is_in_head:
            # What came before this head in the data in which it began is not its own.
            if self._head_bytes < 0:
                self._head_bytes = 0
                self.loop.call_later(HEAD_MAX_S, self._check_head, self._heads)
            else:
                self._head_bytes += len(data)
            if self.serves is not None:
                self._keep_early(data)
            is_too_long = self._head_bytes > HEAD_MAX or len(self._headers) > HEADERS_MAX
        else:
            assert self.incoming is not None
            if self._counted == self._heads:
                self._body_left -= len(data)
            else:
                self._counted, self._body_left = self._heads, self.incoming.left_to_come()
            self.heard_at = self.loop.time()
            self._bare_bytes += len(data)
            is_too_long = self._bare_bytes > HEAD_MAX
        if is_too_long:
            self.refuse(HEAD_TOO_LARGE)

    def _keep_early(self, data: bytes) -> None:
        """Keep the bytes of a head that is not whole, and of the requests before it as long as they are few."""
        if not isinstance(self._early, bytearray):
            self._early = bytearray(self._early)
        self._early += data
        if len(self._early) > 2 * HEAD_MAX and self._heads_before not in (self._heads, _UNKNOWN):
            self._early, self._heads_before = bytearray(self._without_earlier(bytes(self._early))), self._heads

    def _check_head(self, number: int) -> None:
        """Refuse a head that began HEAD_MAX_S ago, after so many others, if it is not whole yet."""
        if not self.is_in_head or self._heads != number or self.parser is DEAF:
            return
        if self.is_crowded():  # the client is not read from, which is not its fault
            self.loop.call_later(HEAD_MAX_S, self._check_head, number)
            return
        self.refuse(HEAD_TOO_SLOW)

    def _check_size(self, headers: list[tuple[bytes, bytes]] | deque[tuple[bytes, bytes]]) -> None:
        size = len(self._url) + sum(len(name) + len(value) for name, value in headers)
        if size > HEAD_MAX or len(headers) > HEADERS_MAX:
            raise RefusedError(HEAD_TOO_LARGE)


class _RequestCounter:
    """Counts the requests that end in what is parsed."""

    def __init__(self) -> None:
        self.count = 0

    def on_message_complete(self) -> None:
        self.count += 1


def _count_requests(data: bytes) -> int:
    """How many requests `data`, which begins with one, holds as a whole."""
    counter = _RequestCounter()
    with suppress(httptools.HttpParserError, httptools.HttpParserUpgrade):
        httptools.HttpRequestParser(counter).feed_data(data)
    return counter.count


class _Deaf:
    """In place of the parser, when what comes is of no interest any more."""

    def feed_data(self, _data: bytes) -> None:
        """Heard and forgotten."""


DEAF: Final = _Deaf()
