"""Waiting consumers grouped by the queues that they wait for, in order of arrival; their deadlines; fallback polls.

Groups poll in turn although nothing woke them, in case a message was lost. A message is lost only while the
subscription is down, and once it is established again every group polls. So a poll in between is a second line of
defence, which also renews the marks that tell producers to send messages. Few groups poll every FALLBACK_POLL_S; many
take turns at LOOKS_PER_S; none waits for its turn longer than LOOK_EVERY_MAX_S.

Fairness between processes: a message wakes one waiter in each, and the first to reach Redis gets the job. The faster
one would get nearly all. So the process that got the last job steps back for a moment: if others wait, it is theirs.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Collection
from enum import Enum
from time import monotonic
from typing import Any, Final

from .. import constants
from ..keys import notice_channel
from ..transport.connection import AsyncClient

TIMER_STEP_S: Final = 0.001

ALONE_JOBS: Final = 20
"""Jobs after which it is tried again whether another process waits for the same queues."""

STEP_BACK_S: Final = 0.001
"""Longer than a poll takes. Paid only where several processes follow the same pool, and rarely if they do not wait for
the same queues."""

COUNT_EVERY_S: Final = 5.0
TOGETHER_S: Final = 0.05
"""Turns that are so close poll together: calls of one event-loop turn share a round trip, which is most of the cost."""


def delay_until(deadline: float) -> float:
    """Seconds to give to `call_later` for a deadline in seconds of `time.monotonic`: one step more than are left.

    uvloop's clock counts whole milliseconds, so its timers may end 1 ms early. A sleeper that wakes before its deadline
    sleeps again; the step makes that rare, and keeps it from spinning.
    """
    return max(0.0, deadline - monotonic()) + TIMER_STEP_S


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


class OtherProcesses:
    """Whether other processes follow the pool too. In a cluster only those on the same node are seen."""

    def __init__(self, client: AsyncClient) -> None:
        self._client: Any = client
        self._loop = asyncio.get_running_loop()
        self._counted_at = -COUNT_EVERY_S
        self._counting: asyncio.Task[None] | None = None
        self.present = False

    def count_if_due(self) -> None:
        """Ask again now and then, in the background."""
        now = self._loop.time()
        if now - self._counted_at >= COUNT_EVERY_S and (self._counting is None or self._counting.done()):
            self._counted_at = now
            self._counting = self._loop.create_task(self._count())

    def stop(self) -> None:
        if self._counting is not None:
            self._counting.cancel()

    async def _count(self) -> None:
        try:
            counted = await self._client.pubsub_numsub(notice_channel())
        except Exception:
            return  # whatever the connection raised: as it was
        self.present = any(listeners > 1 for _, listeners in counted)


class FallbackPolls:
    """A heap of groups by the time of their next poll, and one timer."""

    def __init__(self, groups: WaiterGroups) -> None:
        self._loop = asyncio.get_running_loop()
        self._groups = groups
        self._turns: list[tuple[float, int, WaiterGroup]] = []
        self._numbers = itertools.count()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    @property
    def every_s(self) -> float:
        """How long a group that polls now may wait for its next turn."""
        return max(
            constants.FALLBACK_POLL_S, min(len(self._groups) / constants.LOOKS_PER_S, constants.LOOK_EVERY_MAX_S)
        )

    def record_poll(self, group: WaiterGroup) -> int:
        """The group polls now. Return for how many ms its queues count as waited for: it polls again well before."""
        every_s = self.every_s
        is_new = not group.poll_at
        group.poll_at = self._loop.time() + every_s
        if is_new:
            self._enter(group)
        return max(constants.WAITING_MARK_MS, int(constants.MARK_OUTLIVES * every_s * 1000))

    def poll_soon(self) -> None:
        """Messages may have been lost: every group polls, one after the other."""
        now = self._loop.time()
        self._turns.clear()
        for number, group in enumerate(self._groups.all()):
            group.poll_at = now + number / constants.LOOKS_PER_S
            self._turns.append((group.poll_at, next(self._numbers), group))
        self._set_timer()

    def stop(self) -> None:
        self._turns.clear()
        if self._timer:
            self._timer.cancel()

    def _enter(self, group: WaiterGroup) -> None:
        heapq.heappush(self._turns, (group.poll_at, next(self._numbers), group))
        self._set_timer()

    def _set_timer(self) -> None:
        if not self._turns:
            return
        if self._timer and not self._timer.cancelled():
            if self._timer_at <= self._turns[0][0] + TOGETHER_S:
                return
            self._timer.cancel()
        self._timer_at = self._turns[0][0] + TOGETHER_S
        self._timer = self._loop.call_at(self._timer_at, self._poll)

    def _poll(self) -> None:
        """A group that polled since its turn was planned is planned anew; one that has gone is dropped."""
        self._timer = None
        now = self._loop.time()
        while self._turns and self._turns[0][0] <= now:
            group = heapq.heappop(self._turns)[2]
            if not group.total:
                continue
            if group.poll_at <= now:
                # A group that polls at this moment may have its next poll planned earlier than `every_s`.
                group.poll_at = now + (self.every_s if group.wake(Wake.POLL) else constants.FALLBACK_POLL_S)
            heapq.heappush(self._turns, (group.poll_at, next(self._numbers), group))
        self._set_timer()
