"""Lines of waiting consumers: who waits for the same queues stands in one line, in order of arrival."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Collection
from typing import Final

MESSAGE: Final = True
"""What wakes a sleeper is said to it: a message came, ..."""
LOOK: Final = False
"""... it is time to look, ..."""
TIME_UP: Final = None
"""... or it has waited for as long as it would."""

Wake = bool | None

ALONE_FOR: Final = 20
"""Jobs until it is tried again whether another process waits for the same queues."""


class Line:
    """Waiters for the same queues. Those asleep are in a heap by arrival; those who left are passed over later on."""

    __slots__ = ("_ahead", "_alone", "_gone", "look_at", "names", "sleeping", "timer", "total")

    def __init__(self, names: tuple[bytes, ...]) -> None:
        self.names = names
        self.sleeping: list[tuple[int, asyncio.Future[Wake]]] = []
        self.timer: asyncio.TimerHandle | None = None
        self.total = 0
        self.look_at = 0.0
        """When the line is to look although nothing woke it (seconds of the event loop's clock)."""
        self._gone = 0
        self._ahead = False
        self._alone = 0

    def should_step_back(self) -> bool:
        """Whether another process that waits for these queues is to look first, since the last job came here."""
        if self._alone:
            self._alone -= 1
            return False
        return self._ahead

    def note_won(self, *, stepped_back: bool) -> None:
        """A message brought a job here. If nobody took it meanwhile, nobody else seems to wait: no more stepping back,
        for a while."""
        self._ahead = True
        if stepped_back:
            self._alone = ALONE_FOR

    def note_lost(self) -> None:
        """A message came, and another process was faster."""
        self._ahead = False
        self._alone = 0

    def lie_down(self, arrival: int, future: asyncio.Future[Wake]) -> None:
        """At the place that its arrival gives it: who looked in vain does not go to the end of the line."""
        heapq.heappush(self.sleeping, (arrival, future))

    def leave_asleep(self) -> None:
        """One of those asleep has gone. They are cleared away together, so that each costs little."""
        self._gone += 1
        if self._gone * 2 >= len(self.sleeping):
            self.sleeping = [entry for entry in self.sleeping if not entry[1].done()]
            heapq.heapify(self.sleeping)
            self._gone = 0

    def first(self) -> int | None:
        """The arrival number of the first sleeper; None: nobody sleeps."""
        while self.sleeping and self.sleeping[0][1].done():
            heapq.heappop(self.sleeping)
            self._gone -= 1
        return self.sleeping[0][0] if self.sleeping else None

    def wake(self, why: Wake) -> bool:
        """Send the first to look. False: nobody sleeps here."""
        if self.first() is None:
            return False
        heapq.heappop(self.sleeping)[1].set_result(why)
        return True

    def wake_all(self, why: Wake) -> None:
        sleeping, self.sleeping, self._gone = self.sleeping, [], 0
        for _, future in sleeping:
            if not future.done():
                future.set_result(why)


class Lines:
    """All lines of an engine, by the queues that they wait for."""

    def __init__(self) -> None:
        self._lines: dict[tuple[bytes, ...], Line] = {}
        self._of_queue: dict[bytes, set[Line]] = {}
        self.messages: dict[bytes, int] = {}
        """Messages about each queue that somebody waits for: who was looking meanwhile looks again."""

    def __len__(self) -> int:
        return len(self._lines)

    def all(self) -> Collection[Line]:
        return self._lines.values()

    def join(self, names: tuple[bytes, ...]) -> Line:
        """The line for these queues, with one more waiter."""
        line = self._lines.get(names)
        if line is None:
            line = self._lines[names] = Line(names)
            for name in names:
                self._of_queue.setdefault(name, set()).add(line)
        line.total += 1
        return line

    def leave(self, line: Line) -> None:
        """One waiter fewer; the last one puts out the light."""
        line.total -= 1
        if line.total:
            return
        if line.timer:
            line.timer.cancel()
        del self._lines[line.names]
        for name in line.names:
            lines = self._of_queue.get(name, set())
            lines.discard(line)
            if not lines:
                self._of_queue.pop(name, None)
                self.messages.pop(name, None)

    def wake_queue(self, name: bytes, count: int) -> None:
        """`count` jobs of a queue became ready: wake as many, the longest-waiting first across lines."""
        lines = self._note_message(name)
        if len(lines) == 1:
            (line,) = lines
            while count > 0 and line.wake(MESSAGE):
                count -= 1
            return
        firsts = [(first, line) for line in lines if (first := line.first()) is not None]
        heapq.heapify(firsts)
        while count > 0 and firsts:
            count -= 1
            line = firsts[0][1]
            line.wake(MESSAGE)
            following = line.first()
            if following is None:
                heapq.heappop(firsts)
            else:
                heapq.heapreplace(firsts, (following, line))

    def wake_lines(self, name: bytes) -> None:
        """A queue's next due time moved: each of its lines has a timer of its own that is now too late."""
        for line in self._note_message(name):
            line.wake(LOOK)

    def _note_message(self, name: bytes) -> Collection[Line]:
        lines = self._of_queue.get(name, ())
        if lines:
            self.messages[name] = self.messages.get(name, 0) + 1
        return lines
