"""A connection of a client: HTTP/1.1 read by llhttp (through httptools), requests handed to an ASGI application.

uvicorn listens, starts, watches and stops; it lets the protocol be chosen, and this is ours. Its own one, made for all
that ASGI applications may want, takes 15 µs more for each request, and does not tell the requests which are waiting
behind another one that the client has gone. There are no web sockets here.
"""

from __future__ import annotations

import asyncio
import select
from collections import deque
from typing import Any, Final
from urllib.parse import unquote_to_bytes

import httptools
from uvicorn.config import Config
from uvicorn.server import ServerState

from queues.api.request_ids import choose_request_id

from .exchange import Exchange

HEAD_MAX: Final = 65_536
"""Bytes of a request's line and headers."""

IDLE_MAX_S: Final = 75.0
"""How long a connection may be without a whole request, from its beginning or from its last answer on."""

PIPELINE_MAX: Final = 16
"""Requests that may wait behind the one that is being answered; then the client is read from no more."""

_ASGI: Final = {"version": "3.0", "spec_version": "2.3"}
HAS_HUNG_UP: Final = "taskq.has_hung_up"  # as queues.api.fast_lane has it, which needs Django to be imported
_HUNG_UP: Final = getattr(select, "POLLRDHUP", 0)


class Connection(asyncio.Protocol):
    """Answers one request after the other, in the order in which they came."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.loop = _loop or asyncio.get_running_loop()
        self._application = config.loaded_app
        self._server = server_state
        self._parser: Any = httptools.HttpRequestParser(self)
        self._transport: Any = None
        self._client: tuple[str, int] | None = None
        self._address: tuple[str, int] | None = None
        self._idle_since = self.loop.time()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._incoming: Exchange | None = None
        self._current: Exchange | None = None
        self._pipeline: deque[Exchange] | None = None
        self._reading = True
        self._room: asyncio.Event | None = None
        self.is_full = False
        """Whether more is written than the client has taken: `drain` waits until there is room again."""
        self._in_head = False
        self._head_bytes = 0
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []

    # What the event loop tells.

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._server.connections.add(self)  # type: ignore[arg-type]  # it is asked to `shutdown`, and no more
        self._client = _address_of(transport, "peername")
        self._address = _address_of(transport, "sockname")
        self._idle_timer = self.loop.call_later(IDLE_MAX_S, self._check_idle)

    def connection_lost(self, _error: Exception | None) -> None:
        self._server.connections.discard(self)
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self.resume_writing()
        self._tell_gone()
        self._parser = None

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # not here: it has been read as the request that it also is
        except httptools.HttpParserInvalidMethodError:
            self._refuse(b"501 Not Implemented", b"method not implemented")
            return
        except httptools.HttpParserError:
            self._refuse(b"400 Bad Request", b"not an HTTP/1.1 request")
            return
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_MAX:
                self._refuse(b"431 Request Header Fields Too Large", b"headers too large")

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        if self._room is not None:
            self._room.set()

    # What the parser tells.

    def on_message_begin(self) -> None:
        self._in_head = True
        self._head_bytes = 0
        self._url = b""
        self._headers = []

    def on_url(self, piece: bytes) -> None:
        self._url += piece

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._in_head = False
        parser = self._parser
        version = parser.get_http_version()
        path, query = _split(self._url)
        headers = self._headers
        scope = {
            "type": "http",
            "asgi": _ASGI,
            "http_version": version,
            "method": parser.get_method().decode("ascii"),
            "scheme": "http",
            "path": _decoded(path),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": headers,
            "client": self._client,
            "server": self._address,
            "extensions": {HAS_HUNG_UP: self._has_hung_up},
        }
        exchange = self._incoming = Exchange(
            self,
            scope,
            keep_alive=version == "1.1" and parser.should_keep_alive(),
            expects_continue=(b"expect", b"100-continue") in headers,
        )
        if self._current is None:
            self._begin(exchange)
            return
        if self._pipeline is None:
            self._pipeline = deque()
        self._pipeline.append(exchange)
        if len(self._pipeline) >= PIPELINE_MAX:
            self.pause_reading()

    def on_body(self, piece: bytes) -> None:
        if self._incoming is not None:
            self._incoming.feed(piece)

    def on_message_complete(self) -> None:
        if self._incoming is not None:
            self._incoming.end()
            self._incoming = None

    # What exchanges ask for.

    @property
    def default_headers(self) -> bytes:
        """Headers of every response, ready to be sent."""
        return _packed(self._server.default_headers)

    def write(self, data: bytes) -> None:
        """To the client, unless it has gone."""
        self._transport.write(data)

    async def drain(self) -> None:
        """Wait until the client has taken what was written."""
        if self._room is None:
            self._room = asyncio.Event()
        while self.is_full:
            self._room.clear()
            await self._room.wait()

    def pause_reading(self) -> None:
        """Take no more from the client: it is faster than the application."""
        if self._reading and not self._transport.is_closing():
            self._reading = False
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Go on."""
        if not self._reading and not self._transport.is_closing():
            self._reading = True
            self._transport.resume_reading()

    def close(self) -> None:
        """Once all that was written has been sent."""
        self._transport.close()

    def note_answered(self, exchange: Exchange) -> None:
        """It is the turn of the next one."""
        self._server.total_requests += 1
        self._current = None
        if not exchange.keep_alive:
            self._transport.close()
            return
        self._idle_since = self.loop.time()
        if self._pipeline:
            self._begin(self._pipeline.popleft())
        self.resume_reading()

    def _has_hung_up(self) -> bool:
        """Whether the client has closed its end, asked of the kernel: the event loop hears of it a little later.

        False also when that cannot be known.
        """
        if self._transport.is_closing():
            return True
        if not _HUNG_UP:
            return False
        question = select.poll()
        question.register(self._transport.get_extra_info("socket").fileno(), _HUNG_UP)
        if not question.poll(0):
            return False
        self._tell_gone()
        return True

    # What the server asks for.

    def shutdown(self) -> None:
        """Finish what is under way, then close. Who waits for a job is answered at once."""
        from queues.api.stopping import stop_waiting  # needs Django, which is set up after this module is loaded

        stop_waiting(self.loop)
        if self._current is None:
            self._transport.close()
        else:
            self._current.keep_alive = False

    def _begin(self, exchange: Exchange) -> None:
        self._current = exchange
        task = self.loop.create_task(exchange.run(self._application))
        self._server.tasks.add(task)
        task.add_done_callback(self._server.tasks.discard)

    def _tell_gone(self) -> None:
        for exchange in (self._current, *(self._pipeline or ())):
            if exchange is not None:
                exchange.hang_up()
        self._pipeline = None

    def _refuse(self, status: bytes, words: bytes) -> None:
        """What came is no request; nothing that follows can be made sense of."""
        if self._current is not None:
            self._current.keep_alive = False
            self._pipeline = None
            return
        if not self._transport.is_closing():
            body = b'{"error":"%b"}' % words
            self._transport.write(
                b"HTTP/1.1 %b\r\n%bcontent-type: application/json; charset=utf-8\r\nx-request-id: %b\r\n"
                b"content-length: %d\r\nconnection: close\r\n\r\n%b"
                % (status, self.default_headers, choose_request_id(b""), len(body), body)
            )
        self._transport.close()

    def _check_idle(self) -> None:
        now = self.loop.time()
        busy_until = now if self._current is not None else self._idle_since
        if now - busy_until >= IDLE_MAX_S:
            self._transport.close()
        else:
            self._idle_timer = self.loop.call_later(busy_until + IDLE_MAX_S - now, self._check_idle)


def _split(url: bytes) -> tuple[bytes, bytes]:
    """Path and query of a request's target, which may be a whole URL when the client takes us for a proxy."""
    if not url.startswith(b"/"):
        try:
            parsed = httptools.parse_url(url)
        except httptools.HttpParserInvalidURLError:
            return url, b""
        return parsed.path or b"/", parsed.query or b""
    path, _, query = url.partition(b"#")[0].partition(b"?")
    return path, query


def _decoded(path: bytes) -> str:
    raw = unquote_to_bytes(path) if b"%" in path else path
    return raw.decode("utf-8", "replace")


def _address_of(transport: Any, which: str) -> tuple[str, int] | None:
    address = transport.get_extra_info(which)
    return (str(address[0]), int(address[1])) if isinstance(address, tuple) else None


_packed_headers: list[Any] = [None, b""]


def _packed(headers: list[tuple[bytes, bytes]]) -> bytes:
    """uvicorn makes a new list of them each second."""
    if _packed_headers[0] is not headers:
        _packed_headers[:] = headers, b"".join([b"%b: %b\r\n" % header for header in headers])
    return _packed_headers[1]  # type: ignore[no-any-return]
