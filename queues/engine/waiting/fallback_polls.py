"""Fallback polls: groups of waiters poll although nothing woke them, in turn, in case a message was lost.

A message is lost only while the subscription is down, and once it is established again every group polls. So a poll in
between is a second line of defence, which also renews the marks that tell producers to send messages. Few groups poll
every FALLBACK_POLL_S; many take turns at LOOKS_PER_S; none waits for its turn longer than LOOK_EVERY_MAX_S.

Fairness between processes: a message wakes one waiter in each, and the first to reach Redis gets the job. The faster
one would get nearly all. So the process that got the last job steps back for a moment: if others wait, it is theirs.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from typing import Any, Final

from .. import limits
from ..keys import notice_channel
from ..transport.connection import AsyncClient
from .waiter_groups import WaiterGroup, WaiterGroups, Wake

STEP_BACK_S: Final = 0.001
"""Longer than a poll takes. Paid only where several processes follow the same pool, and rarely if they do not wait for
the same queues."""

COUNT_EVERY_S: Final = 5.0


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


TOGETHER_S: Final = 0.05
"""Turns that are so close poll together: calls of one event-loop turn share a round trip, which is most of the cost."""


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
        return max(limits.FALLBACK_POLL_S, min(len(self._groups) / limits.LOOKS_PER_S, limits.LOOK_EVERY_MAX_S))

    def record_poll(self, group: WaiterGroup) -> int:
        """The group polls now. Return for how many ms its queues count as waited for: it polls again well before."""
        every_s = self.every_s
        is_new = not group.poll_at
        group.poll_at = self._loop.time() + every_s
        if is_new:
            self._enter(group)
        return max(limits.WAITING_MARK_MS, int(limits.MARK_OUTLIVES * every_s * 1000))

    def poll_soon(self) -> None:
        """Messages may have been lost: every group polls, one after the other."""
        now = self._loop.time()
        self._turns.clear()
        for number, group in enumerate(self._groups.all()):
            group.poll_at = now + number / limits.LOOKS_PER_S
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
                group.poll_at = now + (self.every_s if group.wake(Wake.POLL) else limits.FALLBACK_POLL_S)
            heapq.heappush(self._turns, (group.poll_at, next(self._numbers), group))
        self._set_timer()
