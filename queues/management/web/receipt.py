"""What TCP can say of an answer that was written to a client which then closed its end: did it take it?

A system whose program closes a connection with something unread in it, or which gets something for a connection that is
closed, resets it. One whose program has read all says so by an orderly end, which confirms all that was received.
"""

from __future__ import annotations

import fcntl
import socket
import struct
import termios
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

TAKEN_AFTER_S: Final = 5.0
"""Who has not gone by then has the answer; if its connection breaks later, something else was the cause."""

_OUTQ: Final = getattr(termios, "TIOCOUTQ", None)


class Receipts:
    """What to do, of one connection, should the client go without having taken what is about to be written to it.

    Of a client that says something more, or closes in good order, we hold that it took it.
    """

    __slots__ = ("_expected_at", "_is_over", "expected")

    _recent: Final[deque[tuple[float, list[Callable[[], None]]]]] = deque()
    """Of all connections, so that none keeps the jobs of an answer in memory for as long as it is idle."""

    def __init__(self) -> None:
        self.expected: list[Callable[[], None]] = []
        """What to call; nothing, unless an answer is under way that has to arrive."""
        self._expected_at = 0.0
        self._is_over = False

    def expect(self, undo: Callable[[], None]) -> None:
        """An answer is about to be written; if it is not taken, `undo` is to be called."""
        if self._is_over:
            undo()
            return
        if not self.expected:
            now = self._expected_at = time.monotonic()
            self._recent.append((now, self.expected))
            while self._recent[0][0] < now - TAKEN_AFTER_S:
                self._recent.popleft()[1].clear()
        self.expected.append(undo)

    def clear(self) -> None:
        """All of it was taken."""
        self.expected.clear()
        self.expected = []  # the old one may still be known as recent

    def end(self) -> None:
        """The connection closes: an answer that comes now, to a request of before, is not taken."""
        self._is_over = True

    def undo(self) -> None:
        """Nothing of it was taken."""
        undone, self.expected = self.expected, []
        if time.monotonic() - self._expected_at <= TAKEN_AFTER_S:
            for undo in undone:
                undo()


def was_taken(connection: Any) -> bool:
    """After the end of the client's data has come. `connection`: the socket. True also when it cannot be known."""
    try:
        if connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            return False
        if _OUTQ is None:
            return True
        reply = fcntl.ioctl(connection.fileno(), _OUTQ, b"\0\0\0\0")
    except OSError:
        return True
    unconfirmed: int = struct.unpack("i", reply)[0]
    return unconfirmed == 0
