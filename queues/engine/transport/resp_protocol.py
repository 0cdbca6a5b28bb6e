"""The Redis protocol on one open connection: operations as commands, batches out, replies in order, time limits."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, Protocol

from hiredis import pack_command
from redis.exceptions import ConnectionError, TimeoutError

from ..operation import Operation
from .connection import REPLY_TIMEOUT_S
from .failures import connection_error
from .redis_internals import OpenConnection

COPY_MAX_BYTES: Final = 16_384
"""An argument that is smaller is copied into the command."""


def packed(operation: Operation[Any]) -> bytes:
    """The packed command. Script and keys repeat from call to call, so their part is cached."""
    head, parts = _packed_head(operation.script.sha, operation.keys)
    arguments = pack_command(operation.args)  # type: ignore[arg-type]  # its stub knows tuples of one
    return b"*%d\r\n%b%b" % (parts + len(operation.args), head, arguments[arguments.index(b"\n") + 1 :])


def packed_in_pieces(operation: Operation[Any]) -> list[bytes]:
    """The same in pieces, for a command that is large: bodies of COPY_MAX_BYTES and more are not copied."""
    head, parts = _packed_head(operation.script.sha, operation.keys)
    small: list[Any] = []
    pieces = [b"*%d\r\n%b" % (parts + len(operation.args), head)]
    for argument in operation.args:
        if isinstance(argument, bytes) and len(argument) >= COPY_MAX_BYTES:
            pieces += (_packed_arguments(small), b"$%d\r\n" % len(argument), argument, b"\r\n")
            small = []
        else:
            small.append(argument)
    pieces.append(_packed_arguments(small))
    return pieces


def _packed_arguments(arguments: list[Any]) -> bytes:
    """Without the count in front."""
    if not arguments:
        return b""
    whole: bytes = pack_command(tuple(arguments))
    return whole[whole.index(b"\n") + 1 :]


@lru_cache(maxsize=1024)
def _packed_head(sha: str, keys: tuple[bytes, ...]) -> tuple[bytes, int]:
    """What comes before the arguments, and how many parts that is."""
    parts: tuple[Any, ...] = ("EVALSHA", sha, len(keys), *keys)
    whole = pack_command(parts)
    return whole[whole.index(b"\n") + 1 :], len(parts)


LATE_S: Final = 0.1
"""A timer that fires so late shows that the event loop was held up: replies may have arrived unread."""

LATE_REPLIES_MAX_S: Final = 3600.0
"""How long a connection is kept for replies that come too late for their callers, and have to be undone."""


class LateReplies(Protocol):
    """Takes the replies to a batch whose callers were told that there are none."""

    def are_needed(self) -> bool:
        """Whether any of them may have to be undone."""

    def take(self, replies: list[Any]) -> None:
        """Take the replies of the batch."""


class _Batch:
    """Commands that were sent together."""

    __slots__ = ("future", "late", "left", "replies", "sent_at")

    def __init__(
        self, future: asyncio.Future[list[Any]], commands: int, sent_at: float, late: LateReplies | None
    ) -> None:
        self.future = future
        self.left = commands
        self.replies: list[Any] = []
        self.sent_at = sent_at
        self.late = late


class RespProtocol(asyncio.Protocol):
    """Takes over a connection that redis-py has made."""

    def __init__(self, connection: OpenConnection) -> None:
        self._loop = asyncio.get_running_loop()
        self._connection = connection
        self._reader = connection.reader
        self._incomplete: object = self._reader.gets()  # what it answers when there is nothing
        self._waiting: deque[_Batch] = deque()
        self._heard_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._lost: Exception | None = None
        self._retired = False
        self._closed = False
        self._transport = connection.transport
        self._transport.set_protocol(self)
        if self._transport.is_closing():
            self.lose(ConnectionError("Connection closed by server."))

    @property
    def is_lost(self) -> bool:
        """Whether it takes no more commands."""
        return self._lost is not None

    @property
    def is_closed(self) -> bool:
        """Whether no reply can come any more."""
        return self._closed

    def send(
        self, packed: Sequence[bytes], late: LateReplies | None = None, *, commands: int = 0
    ) -> asyncio.Future[list[Any]]:
        """Send a batch. The future has the replies in order, or fails with an error of the connection.

        `commands`: how many `packed` is the pieces of, if they are not whole commands.

        Redis may carry out a command long after it was given up, when it was paused. Its replies then go to `late`.
        """
        if self._lost is not None:
            raise self._lost
        now = self._loop.time()
        batch = _Batch(self._loop.create_future(), commands or len(packed), now, late)
        try:
            if commands:
                self._transport.writelines(packed)
            else:
                self._transport.write(b"".join(packed))
        except Exception as error:  # a transport that was closed a moment ago, and has not said so yet
            lost = connection_error(error)
            self.lose(lost)
            raise lost from lost.__cause__
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
        """Close at once: callers that wait get the error."""
        if self._closed:
            return
        self._closed = True
        self._transport.abort()
        self._connection.close()
        if self._timer is not None:
            self._timer.cancel()
        self._fail(error)
        self._waiting.clear()

    def _give_up(self, error: Exception) -> None:
        """Callers that wait get the error. The connection stays while a reply may come that has to be undone."""
        self._fail(error)
        if any(batch.late is not None and batch.late.are_needed() for batch in self._waiting):
            self._timer = self._loop.call_later(LATE_REPLIES_MAX_S, self.lose, error)
        else:
            self.lose(error)

    def _fail(self, error: Exception) -> None:
        if self._lost is None:
            self._lost = error
        for batch in self._waiting:
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
                    elif self._lost is not None and batch.late is not None:
                        self._loop.call_soon(batch.late.take, batch.replies)
        except Exception as error:  # InvalidResponse; IndexError: nobody asked; what redis-py makes of odd errors
            self.lose(ConnectionError(f"not what Redis says: {error}"))
        if (self._retired or self._lost is not None) and not self._waiting:
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
            self._give_up(TimeoutError("Timeout reading from socket"))
