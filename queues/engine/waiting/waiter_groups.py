"""Waiting consumers grouped by the queues that they wait for, in order of arrival in each group; their deadlines."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Collection
from enum import Enum
from time import monotonic
from typing import Final

TIMER_STEP_S: Final = 0.001


def delay_until(deadline: float) -> float:
    """Seconds to give to `call_later` for a deadline in seconds of `time.monotonic`: one step more than are left.

    uvloop's clock counts whole milliseconds, so its timers may end 1 ms early. A sleeper that wakes before its deadline
    sleeps again; the step makes that rare, and keeps it from spinning.
    """
    return max(0.0, deadline - monotonic()) + TIMER_STEP_S


ALONE_JOBS: Final = 20
"""Jobs after which it is tried again whether another process waits for the same queues."""


class Wake(Enum):
    """Why a waiter is woken."""

    MESSAGE = "message"
    """A message says that a job is ready."""
    POLL = "poll"
    """It is time to poll without a message."""
    TIMEOUT = "timeout"
    """Its time is over."""


class WaiterGroup:
    """Waiters for the same queues. Those asleep are in a heap by arrival; those that left are removed later on."""

    __slots__ = ("_gone", "_jobs_alone", "_won_last", "names", "poll_at", "sleeping", "timer", "total")

    def __init__(self, names: tuple[bytes, ...]) -> None:
        self.names = names
        self.sleeping: list[tuple[int, asyncio.Future[Wake]]] = []
        self.timer: asyncio.TimerHandle | None = None
        self.total = 0
        self.poll_at = 0.0
        """When the group polls although nothing woke it (seconds of the event loop's clock)."""
        self._gone = 0
        self._won_last = False
        self._jobs_alone = 0

    def should_yield(self) -> bool:
        """Whether another process that waits for these queues may poll first, since this one got the last job."""
        if self._jobs_alone:
            self._jobs_alone -= 1
            return False
        return self._won_last

    def record_won(self, *, yielded: bool) -> None:
        """A message brought a job here. If this process had yielded, no other one seems to wait: stop yielding for
        ALONE_JOBS jobs."""
        self._won_last = True
        if yielded:
            self._jobs_alone = ALONE_JOBS

    def record_lost(self) -> None:
        """A message came, and another process was faster."""
        self._won_last = False
        self._jobs_alone = 0

    def add_sleeper(self, arrival: int, future: asyncio.Future[Wake]) -> None:
        """Add a sleeper by its number of arrival: one that polled in vain does not go to the end."""
        heapq.heappush(self.sleeping, (arrival, future))

    def remove_sleeper(self) -> None:
        """Note that a sleeper has gone. They are removed together, so that each costs little."""
        self._gone += 1
        if self._gone * 2 >= len(self.sleeping):
            self.sleeping = [entry for entry in self.sleeping if not entry[1].done()]
            heapq.heapify(self.sleeping)
            self._gone = 0

    def first(self) -> int | None:
        """The arrival number of the first sleeper; None: there is none."""
        while self.sleeping and self.sleeping[0][1].done():
            heapq.heappop(self.sleeping)
            self._gone -= 1
        return self.sleeping[0][0] if self.sleeping else None

    def wake(self, why: Wake) -> bool:
        """Wake the first sleeper. False: there is none."""
        if self.first() is None:
            return False
        heapq.heappop(self.sleeping)[1].set_result(why)
        return True

    def wake_all(self, why: Wake) -> None:
        sleeping, self.sleeping, self._gone = self.sleeping, [], 0
        for _, future in sleeping:
            if not future.done():
                future.set_result(why)


class WaiterGroups:
    """All groups of an engine, by the queues that they wait for."""

    def __init__(self) -> None:
        self._groups: dict[tuple[bytes, ...], WaiterGroup] = {}
        self._of_queue: dict[bytes, set[WaiterGroup]] = {}
        self.messages: dict[bytes, int] = {}
        """Number of messages about each queue that is waited for: a waiter that polled meanwhile polls again."""

    def __len__(self) -> int:
        return len(self._groups)

    def all(self) -> Collection[WaiterGroup]:
        return self._groups.values()

    def join(self, names: tuple[bytes, ...]) -> WaiterGroup:
        """The group for these queues, with one more waiter."""
        group = self._groups.get(names)
        if group is None:
            group = self._groups[names] = WaiterGroup(names)
            for name in names:
                self._of_queue.setdefault(name, set()).add(group)
        group.total += 1
        return group

    def leave(self, group: WaiterGroup) -> None:
        """Remove a waiter, and the group with its last one."""
        group.total -= 1
        if group.total:
            return
        if group.timer:
            group.timer.cancel()
        del self._groups[group.names]
        for name in group.names:
            groups = self._of_queue.get(name, set())
            groups.discard(group)
            if not groups:
                self._of_queue.pop(name, None)
                self.messages.pop(name, None)

    def wake_queue(self, name: bytes, count: int) -> None:
        """`count` jobs of a queue became ready: wake as many, the longest-waiting first across groups."""
        groups = self._note_message(name)
        if len(groups) == 1:
            (group,) = groups
            while count > 0 and group.wake(Wake.MESSAGE):
                count -= 1
            return
        firsts = [(first, group) for group in groups if (first := group.first()) is not None]
        heapq.heapify(firsts)
        while count > 0 and firsts:
            count -= 1
            group = firsts[0][1]
            group.wake(Wake.MESSAGE)
            following = group.first()
            if following is None:
                heapq.heappop(firsts)
            else:
                heapq.heapreplace(firsts, (following, group))

    def wake_groups(self, name: bytes) -> None:
        """Wake each group of a queue whose next due time moved: their timers are too late now."""
        for group in self._note_message(name):
            group.wake(Wake.POLL)

    def _note_message(self, name: bytes) -> Collection[WaiterGroup]:
        groups = self._of_queue.get(name, ())
        if groups:
            self.messages[name] = self.messages.get(name, 0) + 1
        return groups
