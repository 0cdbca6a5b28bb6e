"""What clients have received of what was written: answers that were not read, and clients that take nothing.

A kernel confirms bytes when it has received them, not when its program has read them. A program that closes a
connection with something unread in it resets the connection, and so may a proxy that has read everything. So an answer
counts as undelivered if the connection ends before the client's kernel has confirmed all of it, or is reset within
UNREAD_WITHIN_S of the write; a reset later than that says nothing about the answer.
"""

from __future__ import annotations

import fcntl
import select
import socket
import struct
import termios
import time
from collections.abc import Callable
from typing import Any, Final

UNREAD_WITHIN_S: Final = 0.1
"""A connection that is reset so soon after an answer was written is taken for one whose client did not read it."""

TAKE_MAX_S: Final = 30.0
TAKE_MIN_BYTES: Final = 524_288
"""A client takes all that was written, or so many bytes of it, every TAKE_MAX_S; else the connection is ended."""

_HUNG_UP: Final = getattr(select, "POLLRDHUP", 0)
_OUTQ: Final = getattr(termios, "TIOCOUTQ", None)


class DeliveryCheck:
    """The answers of one connection whose loss has to be undone, until the client is known to have them.

    Positions are bytes written to the connection since it was made. A client that sends something more has read
    what came before. `take_by`: by when the client has to take what is written, by the event loop's clock.
    """

    __slots__ = ("_has_ended", "_pending", "_take_to", "take_by")

    def __init__(self) -> None:
        self._has_ended = False
        self._pending: list[tuple[float, int, Callable[[], None]]] = []
        self._take_to, self.take_by = 0, 0.0

    def __bool__(self) -> bool:
        """Whether an answer may still turn out to be undelivered."""
        return bool(self._pending)

    def expect(self, undo: Callable[[], None], *, start: int) -> None:
        """An answer is about to be written at the position `start`; `undo` is called if it is not delivered."""
        if self._has_ended:  # the answer to a request of before
            undo()
            return
        self._pending.append((time.monotonic(), start, undo))

    def clear(self) -> None:
        """All answers are delivered."""
        self._pending = []

    def clear_confirmed(self, *, written: int, confirmed: int) -> None:
        """Forget the answers that the client's kernel has confirmed, unless a reset would still undo them."""
        if self._pending and confirmed >= written and time.monotonic() - self._pending[-1][0] > UNREAD_WITHIN_S:
            self.clear()

    def end(self, *, written: int, confirmed: int, was_reset: bool) -> None:
        """The connection has ended: undo what was not delivered, in the order in which it was written."""
        self._has_ended = True
        pending, self._pending = self._pending, []
        ends = [start for _, start, _ in pending[1:]] + [written]
        now = time.monotonic()
        for (written_at, _, undo), end in zip(pending, ends, strict=False):
            if confirmed < end or (was_reset and now - written_at <= UNREAD_WITHIN_S):
                undo()

    def has_taken_enough(self, confirmed: int) -> bool:
        """Whether the client has, now that it has confirmed the bytes up to that position."""
        return confirmed >= self._take_to

    def set_take_deadline(
        self, *, written: int, confirmed: int, limit_s: float, now: float, idle: float | None
    ) -> None:
        """From now on the client has TAKE_MAX_S to take what is written, or TAKE_MIN_BYTES of it; at most `limit_s`.

        From `idle` on, the end of the last answer, if that fitted into the kernel's buffers: nobody looked until now.
        """
        self._take_to = min(written, confirmed + TAKE_MIN_BYTES)
        limit_s = min(TAKE_MAX_S, limit_s)
        is_new = idle is not None and idle > self.take_by - limit_s
        self.take_by = (idle if idle is not None and is_new else now) + limit_s


def has_closed_its_end(transport: Any) -> bool:
    """Whether the client has, asked of the kernel; False also where that cannot be known."""
    if not _HUNG_UP:
        return False
    question = select.poll()
    question.register(transport.get_extra_info("socket").fileno(), _HUNG_UP)
    return bool(question.poll(0))


def has_failed(transport: Any) -> bool:
    """Whether a reset came along with the end of the client's data."""
    try:
        return bool(transport.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
    except OSError:
        return True


def unconfirmed_bytes(transport: Any) -> int:
    """Bytes written that the client's kernel has not confirmed, as far as that can be known.

    Also answers after a reset, until the socket is closed.
    """
    unsent: int = transport.get_write_buffer_size()
    connection = transport.get_extra_info("socket")
    if _OUTQ is None or connection is None:
        return unsent
    try:
        reply = fcntl.ioctl(connection.fileno(), _OUTQ, b"\0\0\0\0")
    except (OSError, ValueError):
        return unsent
    unconfirmed: int = struct.unpack("i", reply)[0]
    return unsent + unconfirmed
