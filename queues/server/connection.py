"""A connection of a client: requests, one after the other, are handed to an ASGI application.

uvicorn listens, starts, watches and stops; it lets the protocol be chosen, and this is ours. Its own one, made for all
that ASGI applications may want, takes 15 µs more for each request, and does not tell the requests which are waiting
behind another one that the client has gone. There are no web sockets here.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar, Final

from uvicorn.config import Config
from uvicorn.server import ServerState

from .delivery_check import DeliveryCheck, has_closed_its_end, has_failed, unconfirmed_bytes
from .exchange import Exchange, Headers, lines_of
from .final_exchanges import HandOver, Refusal
from .reader import DEAF, Reader
from .request_head import TOO_MANY, Reason, address_of

PIPELINE_MAX: Final = 16
"""Requests that may wait behind the one that is being answered; then the client is read from no more."""

LINGER_S: Final = 2.0
"""How long a client is listened to that was told to go before it had said all: else it might not get the answer."""

CHECK_EVERY_S: Final = 10.0
"""How often a connection is checked for clients that are silent or take nothing."""

HAS_HUNG_UP: Final = "taskq.has_hung_up"  # these as in queues.api.fast_path, which needs Django
ON_UNDELIVERED: Final = "taskq.on_undelivered"
ANSWER: Final = "taskq.answer"


class Connection(Reader):
    """Answers one request after the other, in the order in which they came.

    uvicorn's `timeout_keep_alive` is how long it may be without a whole request head, from its beginning or from its
    last answer on, and how long nothing may come of a body, and nothing be taken of an answer.
    """

    connections_max: ClassVar[int] = 20_000
    """Of a process; TASKQ_WORKER_CONNECTIONS, where there are settings."""

    __slots__ = (
        "_application",
        "_check_timer",
        "_current",
        "_deliveries",
        "_idle_max_s",
        "_idle_since",
        "_leaving",
        "_pipeline",
        "_reading",
        "_room",
        "_server",
        "_transport",
        "_worker",
        "is_full",
        "written",
    )

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(_loop or asyncio.get_running_loop())
        self._application = config.loaded_app
        self.serves = getattr(self._application, "serves", None)
        self._server = server_state
        self._transport: Any = None
        self.written = 0
        """Bytes written since the connection was made."""
        self._idle_max_s = config.timeout_keep_alive
        self._idle_since = self.loop.time()
        self._check_timer: asyncio.TimerHandle | None = None
        self._reading = True
        self._current: Exchange | None = None
        self._pipeline: deque[Exchange] | None = None
        self._worker: asyncio.Future[Exchange | None] | None = None
        self._leaving: HandOver | None = None
        """The last request here: the connection goes to another process, or is being refused there."""
        self._room: asyncio.Event | None = None
        self.is_full = False
        """Whether more is written than the client has taken: `drain` waits until there is room again."""
        self._deliveries = DeliveryCheck()
        self.extensions = {
            HAS_HUNG_UP: self._has_hung_up,
            ON_UNDELIVERED: self._expect_delivery,
            ANSWER: self._answer,
        }

    # What the event loop tells.

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        if not self.has_slot():
            transport.write(TOO_MANY)
            transport.close()
            return
        self._server.connections.add(self)  # type: ignore[arg-type]  # it is asked to `shutdown`, and no more
        self.client = address_of(transport, "peername")
        self.address = address_of(transport, "sockname")
        self._check_timer = self.loop.call_later(min(self._idle_max_s, CHECK_EVERY_S), self._check)

    def eof_received(self) -> None:
        self._end_deliveries(was_reset=has_failed(self._transport))

    def connection_lost(self, error: Exception | None) -> None:
        self._end_deliveries(was_reset=isinstance(error, ConnectionError))
        self._server.connections.discard(self)
        if self._check_timer is not None:
            self._check_timer.cancel()
        self.resume_writing()
        self._tell_gone()
        if self._worker is not None and not self._worker.done():
            self._worker.set_result(None)
        self.parser, self._current, self.incoming, self._leaving = DEAF, None, None, None
        self.extensions = {}  # what refers to them refers to this one, too

    def data_received(self, data: bytes) -> None:
        if self._deliveries:
            self._deliveries.clear()
        super().data_received(data)

    def pause_writing(self) -> None:
        self.is_full = True
        confirmed = self.written - unconfirmed_bytes(self._transport)
        if self._deliveries.has_taken_enough(confirmed):
            self._set_take_deadline(confirmed)

    def resume_writing(self) -> None:
        self.is_full = False
        if self._room is not None:
            self._room.set()

    def has_slot(self) -> bool:
        """Whether the process may have one connection more."""
        return len(self._server.connections) < self.connections_max

    # What the reader asks for.

    def take_up(self, scope: dict[str, Any], keep_alive: bool) -> Exchange:
        """It is answered now, or in its turn."""
        exchange = Exchange(self, scope, keep_alive)
        if self._current is None:
            self._begin(exchange)
        else:
            self._line_up(exchange)
        return exchange

    def latest(self) -> Exchange | None:
        """The last one in line."""
        return self._pipeline[-1] if self._pipeline else self._current

    def is_crowded(self) -> bool:
        """Whether PIPELINE_MAX are in line, or one that another process serves."""
        return self._leaving is not None or (self._pipeline is not None and len(self._pipeline) >= PIPELINE_MAX)

    def refuse(self, reason: Reason) -> None:
        """What came is no request, and nothing that follows can be made sense of. Those before it are answered."""
        self.parser = DEAF
        self.is_in_head = False
        broken, self.incoming = self.incoming, None
        if broken is not None:  # its head was good, its body is not
            broken.hang_up()
            if broken.is_begun:
                self._transport.close()
                return
            if broken is self._current:
                self._current = None
            elif self._pipeline:
                self._pipeline.pop()
        self._take_last(Refusal(self, reason))

    def hand_over(self, scope: dict[str, Any], data: bytes) -> None:
        """The requests before it are answered; then another process gets the connection, with what follows `data`."""
        self.parser = DEAF
        self.is_in_head = False
        self.held = data
        self._leaving = HandOver(self, scope)
        self.pause_reading()
        self._take_last(self._leaving)

    # What exchanges ask for.

    def write(self, data: bytes) -> None:
        """Send to the client, unless it has gone."""
        self.written += len(data)
        self._transport.write(data)

    def default_headers(self) -> bytes:
        """Headers of every response, ready to be sent. uvicorn makes a new list of them each second."""
        headers = self._server.default_headers
        if _packed[0] is not headers:
            _packed[:] = headers, lines_of(headers)
        return _packed[1]  # type: ignore[no-any-return]

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
        """Go on, unless enough requests wait already."""
        if self._reading or self._transport.is_closing() or self.is_crowded():
            return
        self._reading = True
        self.heard_at = self.loop.time()
        self._transport.resume_reading()
        if self.held:
            held, self.held = self.held, b""
            self.data_received(held)

    async def dup_when_sent(self) -> socket.socket | None:
        """A descriptor of its own for the connection, when all that was written is sent. None: the client has gone."""
        self._transport.set_write_buffer_limits(0)
        await self.drain()
        if self._transport.is_closing():
            return None
        return socket.socket(fileno=os.dup(self._transport.get_extra_info("socket").fileno()))

    def let_go(self) -> None:
        """Another process has the connection: close this one's end of it, which the client does not notice.

        It goes on reading what was written here, so that no answer is undelivered because of this.
        """
        self._deliveries.clear()
        self._transport.abort()

    def close(self) -> None:
        """Once all that was written has been sent."""
        self._transport.close()

    def note_answered(self, exchange: Exchange) -> None:
        """It is the turn of the next one."""
        self._server.total_requests += 1
        self._current = None
        if not exchange.keep_alive:
            self._leave()
            return
        self._idle_since = self.loop.time()
        if self._pipeline:
            self._begin(self._pipeline.popleft())
        if not self._reading:
            self.resume_reading()

    def _has_hung_up(self) -> bool:
        """Whether the client has closed its end, asked of the kernel: the event loop hears of it a little later.

        False also when that cannot be known.
        """
        if self._transport.is_closing():
            return True
        if not has_closed_its_end(self._transport):
            return False
        self._tell_gone()
        self._transport.close()  # the event loop hears nothing of it while the client is not read from
        return True

    # What the server asks for.

    def shutdown(self) -> None:
        """Finish what is under way, then close. Who waits for a job is answered at once."""
        stop_waiting = getattr(self._application, "stop_waiting", None)
        if stop_waiting is not None:
            stop_waiting(self.loop)
        if self._current is None:
            self._transport.close()
        else:
            self._current.keep_alive = False

    def _begin(self, exchange: Exchange) -> None:
        self._current = exchange
        worker, self._worker = self._worker, None
        if worker is not None and not worker.done():
            worker.set_result(exchange)
            return
        task = self.loop.create_task(self._work(exchange))
        self._server.tasks.add(task)
        task.add_done_callback(self._server.tasks.discard)

    async def _work(self, exchange: Exchange | None) -> None:
        """Have it answered; then, if that left nothing behind, wait for the next: to make a task takes longer."""
        while exchange is not None:
            await exchange.run(self._application)
            if not exchange.was_answered_at_once or self._current is not None or self._transport.is_closing():
                return  # the next one has a task of its own
            exchange = None  # an idle connection keeps nothing of its last request
            self._worker = self.loop.create_future()
            exchange = await self._worker

    def _answer(self, status: int, usual: Headers, own: bytes, body: bytes) -> bool:
        """ASGI extension: all of an answer at once. False: it has to be sent in ASGI's way.

        A user of it must leave nothing in the context of its task, which other requests may get.
        """
        return self._current is not None and self._current.answer(status, usual, own, body)

    def _take_last(self, exchange: Exchange) -> None:
        if self._current is None:
            self._begin(exchange)
        else:
            self._line_up(exchange)

    def _line_up(self, exchange: Exchange) -> None:
        if self._pipeline is None:
            self._pipeline = deque()
        self._pipeline.append(exchange)
        if self.is_crowded():
            self.pause_reading()

    def _tell_gone(self) -> None:
        for exchange in (self._current, *(self._pipeline or ())):
            if exchange is not None:
                exchange.hang_up()
        self._pipeline = None

    def _leave(self) -> None:
        if self.parser is not DEAF and self.incoming is None:
            self._transport.close()
            return
        # To close while the client is sending makes its system throw away what it has not read yet: the answer.
        self.parser, self.incoming, self.held, self._leaving = DEAF, None, b"", None
        self._transport.write_eof()
        self.resume_reading()
        self.loop.call_later(LINGER_S, self._transport.close)

    def _check(self) -> None:
        """End the connection of a client that is silent or takes nothing; else look again later.

        The timer goes round by itself: to set it for each request would take longer than to look now and then.
        """
        if self._transport.is_closing():
            self._transport.abort()  # what is still written out to it would take as long as the client likes
            return
        now = self.loop.time()
        left: float = self._idle_max_s
        is_full = self.is_full or bool(self._deliveries)
        unconfirmed = unconfirmed_bytes(self._transport) if is_full else self._transport.get_write_buffer_size()
        if unconfirmed:
            if self._deliveries.has_taken_enough(self.written - unconfirmed):
                self._set_take_deadline(self.written - unconfirmed)
            elif now >= self._deliveries.take_by:
                self._end_deliveries(was_reset=False)
                self._transport.abort()
                return
            left = self._deliveries.take_by - now
        else:
            self._deliveries.clear_confirmed(written=self.written, confirmed=self.written)
            left += self._silent_since() - now
            if left <= 0:
                self._transport.close()
                return
        self._check_timer = self.loop.call_later(min(left, CHECK_EVERY_S), self._check)

    def _set_take_deadline(self, confirmed: int) -> None:
        idle = self._idle_since if self._current is None else None
        self._deliveries.set_take_deadline(
            written=self.written, confirmed=confirmed, limit_s=self._idle_max_s, now=self.loop.time(), idle=idle
        )

    def _expect_delivery(self, undo: Callable[[], None]) -> None:
        """ASGI extension: call `undo` if the client goes without having read what is about to be written."""
        self._deliveries.expect(undo, start=self.written)

    def _end_deliveries(self, *, was_reset: bool) -> None:
        confirmed = self.written - unconfirmed_bytes(self._transport) if self._deliveries else self.written
        self._deliveries.end(written=self.written, confirmed=confirmed, was_reset=was_reset)

    def _silent_since(self) -> float:
        """Since when the client has owed something (by the loop's clock); now, if it does not."""
        if self._current is None:
            return self._idle_since
        if self.incoming is self._current and self._reading and self._current.is_awaited:
            return max(self.heard_at, self._idle_since)
        return self.loop.time()


_packed: Final[list[Any]] = [None, b""]
