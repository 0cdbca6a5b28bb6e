"""One connection to a server. It is told of its own transport only, so what it hears is for those who wait on it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from redis.exceptions import ConnectionError, TimeoutError

from .connection import REPLY_TIMEOUT_S
from .failures import connection_error

LATE_S: Final = 0.1
"""A timer that comes so late tells of an event loop that was held up: replies may be there, unread."""


class _Batch:
    """Commands that were sent together."""

    __slots__ = ("future", "left", "replies", "sent_at")

    def __init__(self, future: asyncio.Future[list[Any]], commands: int, sent_at: float) -> None:
        self.future = future
        self.left = commands
        self.replies: list[Any] = []
        self.sent_at = sent_at


class Link(asyncio.Protocol):
    """Takes over a connection of redis-py that is connected, with nothing under way."""

    def __init__(self, connection: Any) -> None:
        self._loop = asyncio.get_running_loop()
        self._connection = connection  # its writer closes the transport when it is forgotten
        self._reader = connection._parser._reader
        self._incomplete: object = self._reader.gets()  # what it answers when there is nothing
        self._waiting: deque[_Batch] = deque()
        self._heard_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._lost: Exception | None = None
        self._retired = False
        self._transport = connection._writer.transport
        self._transport.set_protocol(self)
        if self._transport.is_closing():
            self.lose(ConnectionError("Connection closed by server."))

    @property
    def is_lost(self) -> bool:
        return self._lost is not None

    def send(self, packed: Sequence[bytes]) -> asyncio.Future[list[Any]]:
        """Will have the replies in order, or an error of the connection."""
        if self._lost is not None:
            raise self._lost
        now = self._loop.time()
        batch = _Batch(self._loop.create_future(), len(packed), now)
        try:
            self._transport.write(b"".join(packed))
        except Exception as error:  # a transport that was closed a moment ago, and has not said so yet
            self.lose(connection_error(error))
            raise self._lost from error
        self._waiting.append(batch)
        if self._timer is None:
            self._set_timer(now + REPLY_TIMEOUT_S)
        return batch.future

    def retire(self) -> None:
        """Close once all replies are there."""
        self._retired = True
        if not self._waiting:
            self.lose(ConnectionError("Connection closed"))

    def lose(self, error: Exception) -> None:
        """Close at once: who waits gets the error."""
        if self._lost is not None:
            return
        self._lost = error
        self._transport.abort()
        self._connection._close()
        if self._timer is not None:
            self._timer.cancel()
        lost, self._waiting = self._waiting, deque()
        for batch in lost:
            if not batch.future.done():
                batch.future.set_exception(error)

    def data_received(self, data: bytes) -> None:
        """For the event loop."""
        self._heard_at = self._loop.time()
        try:
            self._reader.feed(data)
            while (reply := self._reader.gets()) is not self._incomplete:
                batch = self._waiting[0]
                batch.replies.append(reply)
                batch.left -= 1
                if not batch.left:
                    self._waiting.popleft()
                    if not batch.future.done():
                        batch.future.set_result(batch.replies)
        except Exception as error:  # InvalidResponse; IndexError: nobody asked; what redis-py makes of odd errors
            self.lose(ConnectionError(f"not what Redis says: {error}"))
        if self._retired and not self._waiting:
            self.lose(ConnectionError("Connection closed"))

    def eof_received(self) -> None:
        """For the event loop."""
        self.lose(ConnectionError("Connection closed by server."))

    def connection_lost(self, error: Exception | None) -> None:
        """For the event loop."""
        self.lose(ConnectionError(f"Connection lost: {error}" if error else "Connection closed by server."))

    def _set_timer(self, at: float) -> None:
        self._timer = self._loop.call_at(at, self._check_time, at)

    def _check_time(self, planned_at: float) -> None:
        """Silence ends a connection, slowness does not: a long reply on a narrow line takes its time."""
        self._timer = None
        if not self._waiting:
            return
        now = self._loop.time()
        ends_at = max(self._waiting[0].sent_at, self._heard_at) + REPLY_TIMEOUT_S
        if now < ends_at:
            self._set_timer(ends_at)
        elif now - planned_at > LATE_S:
            self._set_timer(now + LATE_S)
        else:
            self.lose(TimeoutError("Timeout reading from socket"))
