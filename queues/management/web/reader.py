"""What a client sends, read by llhttp (through httptools) and made into exchanges."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Final

import httptools

from .exchange import Exchange
from .refusal import (
    BAD_REQUEST,
    BAD_TARGET,
    HEAD_TOO_LARGE,
    UNKNOWN_METHOD,
    UNKNOWN_VERSION,
    Reason,
    RefusedError,
)
from .target import decode_path, split_target

HEAD_MAX: Final = 65_536
"""Bytes of a request's target and headers; also of what may come between two pieces of a body, or after the last."""

HEADERS_MAX: Final = 256
"""Headers of a request."""

PIECE_MAX: Final = 16_384
"""Bytes that are read at once: no more than some hundred of the shortest requests."""

_SCOPE: Final[dict[str, Any]] = {
    "type": "http",
    "asgi": {"version": "3.0", "spec_version": "2.3"},
    "http_version": "",
    "method": "",
    "scheme": "http",
    "path": "",
    "raw_path": b"",
    "query_string": b"",
    "root_path": "",
    "headers": (),
    "client": None,
    "server": None,
    "extensions": {},
}
"""What an application is told of a request. To copy it takes a third of the time that it takes to make one anew."""

_NOWHERE: Final[deque[tuple[bytes, bytes]]] = deque(maxlen=0)


class Reader(asyncio.Protocol):
    """The half of a connection that listens. The other half says what becomes of what was heard."""

    __slots__ = (
        "_bare_bytes",
        "_head_bytes",
        "_headers",
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

    def is_crowded(self) -> bool:
        """Whether enough requests wait."""
        raise NotImplementedError

    def latest(self) -> Exchange | None:
        """The request that was taken up last, if it has not been answered."""
        raise NotImplementedError

    # What the event loop tells.

    def data_received(self, data: bytes) -> None:
        if len(data) > PIECE_MAX:
            self._take_by_pieces(data)
            return
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._stay(data[upgrade.args[0] :])
            return
        except httptools.HttpParserInvalidMethodError:
            self.refuse(UNKNOWN_METHOD if data[:1].isalpha() else BAD_REQUEST)
            return
        except httptools.HttpParserInvalidURLError:
            self.refuse(BAD_TARGET)
            return
        except httptools.HttpParserError as error:
            cause = error.__context__
            self.refuse(cause.reason if isinstance(cause, RefusedError) else BAD_REQUEST)
            return
        if self.is_in_head or self.incoming is not None:
            self._note_unfinished(len(data))

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
        scope = _SCOPE.copy()
        scope["http_version"] = version
        scope["method"] = parser.get_method().decode("ascii")
        scope["path"] = decode_path(path)
        scope["raw_path"] = path
        scope["query_string"] = query
        scope["headers"] = headers
        scope["client"] = self.client
        scope["server"] = self.address
        scope["extensions"] = self.extensions
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
        """What would be too many requests at once is held back until some are answered."""
        for at in range(0, len(data), PIECE_MAX):
            if self.is_crowded():
                self.held = data[at:]
                return
            self.data_received(data[at : at + PIECE_MAX])

    def _stay(self, rest: bytes) -> None:
        """The client would like another protocol, and may speak this one. The parser has left out the request's body.

        That is read by another parser, which is told of it by a head that we make up.
        """
        exchange = self.latest()
        framing = () if exchange is None else exchange.framing
        if exchange is not None and framing:
            exchange.reopen()
            self.incoming = exchange
            self.parser = httptools.HttpRequestParser(self)
            lines = b"".join([b"%b: %b\r\n" % header for header in framing])
            try:
                self.parser.feed_data(b"POST / HTTP/1.1\r\n%b\r\n" % lines)
            except httptools.HttpParserError:  # the first parser looks at the framing only when it reads the body
                self.refuse(BAD_REQUEST)
                return
        if rest:
            self.data_received(rest)

    def _note_unfinished(self, size: int) -> None:
        """So many bytes have come, and it is not over."""
        if self.is_in_head:
            # What came before this head in the data in which it began is not its own.
            self._head_bytes = 0 if self._head_bytes < 0 else self._head_bytes + size
            is_too_long = self._head_bytes > HEAD_MAX or len(self._headers) > HEADERS_MAX
        else:
            self.heard_at = self.loop.time()
            self._bare_bytes += size
            is_too_long = self._bare_bytes > HEAD_MAX
        if is_too_long:
            self.refuse(HEAD_TOO_LARGE)

    def _check_size(self, headers: list[tuple[bytes, bytes]] | deque[tuple[bytes, bytes]]) -> None:
        size = len(self._url) + sum(len(name) + len(value) for name, value in headers)
        if size > HEAD_MAX or len(headers) > HEADERS_MAX:
            raise RefusedError(HEAD_TOO_LARGE)


class _Deaf:
    """In place of the parser, when what comes is of no interest any more."""

    def feed_data(self, _data: bytes) -> None:
        """Heard and forgotten."""


DEAF: Final = _Deaf()
