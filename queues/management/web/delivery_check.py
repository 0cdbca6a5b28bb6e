"""Decides from TCP whether a client read an answer, and calls back for those that it certainly did not.

A kernel confirms bytes when it has received them, not when its program has read them. A program that closes a
connection with something unread in it resets the connection, and so may a proxy that has read everything. So an answer
counts as undelivered if the connection ends before the client's kernel has confirmed all of it, or is reset within
UNREAD_WITHIN_S of the write; a reset later than that says nothing about the answer.
"""

from __future__ import annotations

import fcntl
import struct
import termios
import time
from collections.abc import Callable
from typing import Any, Final

UNREAD_WITHIN_S: Final = 0.1
"""A connection that is reset so soon after an answer was written is taken for one whose client did not read it."""

_OUTQ: Final = getattr(termios, "TIOCOUTQ", None)


class DeliveryCheck:
    """The answers of one connection whose loss has to be undone, until the client is known to have them.

    Positions are bytes written to the connection since it was made. A client that sends something more has read
    what came before.
    """

    __slots__ = ("_has_ended", "_pending")

    def __init__(self) -> None:
        self._has_ended = False
        self._pending: list[tuple[float, int, Callable[[], None]]] = []

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


def unconfirmed_bytes(connection: Any) -> int:
    """Bytes in the kernel that the other side has not confirmed; 0 where that cannot be known.

    `connection`: the socket. Also answers after a reset, until the socket is closed.
    """
    if _OUTQ is None or connection is None:
        return 0
    try:
        reply = fcntl.ioctl(connection.fileno(), _OUTQ, b"\0\0\0\0")
    except (OSError, ValueError):
        return 0
    unconfirmed: int = struct.unpack("i", reply)[0]
    return unconfirmed
