"""Which queues of a pool hold the most jobs, found out with bounded work however many there are.

A pool may have a hundred thousand queues, so they are looked at a stretch at a time: each `step` counts the jobs of the
next QUEUES_PER_STEP queues, and a round is over when all partitions have been gone through. Up to that many queues,
each step is a whole round. With more, a queue that has grown is found when the walk comes to it, and what the queues
outside of the top held is known as of the last whole round.
"""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from queues.engine import AsyncEngine, JobState, count_jobs, list_partition
from queues.engine.keys import QueueKeys

QUEUES_PER_STEP: Final = 1_000
PAGE: Final = 100
"""Queues counted in one round trip. Between two of them the event loop serves others."""


class QueueRanking:
    """The queues of one pool, walked over and over."""

    def __init__(self, *, most: int, step_every_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._step_every_s = step_every_s
        self._clock = clock
        self._next_step_at = float("-inf")
        self._place: tuple[int, bytes | None] = (0, None)
        self._round = _Round(most)
        self._whole: _Round | None = None

    @property
    def top(self) -> list[QueueKeys]:
        """The queues with the most jobs, at most `most`: of the last whole round, and of the one that is under way."""
        found: dict[bytes, tuple[int, QueueKeys]] = {}
        for part in (self._whole, self._round):
            found.update({queue.name: (size, queue) for size, queue in part.largest()} if part else {})
        return [queue for _, queue in heapq.nlargest(self._most, found.values(), key=lambda entry: entry[0])]

    @property
    def rest(self) -> Mapping[JobState, int]:
        """Jobs by state of the queues that were not among the largest of the last whole round."""
        return self._whole.rest() if self._whole else {}

    async def step(self, engine: AsyncEngine) -> None:
        """Look at the next stretch, unless the last look was within `step_every_s`. Raises StoreUnavailableError."""
        now = self._clock()
        if now < self._next_step_at:
            return
        self._next_step_at = now + self._step_every_s
        try:
            await self._walk(engine)
        except BaseException:
            self._next_step_at = now
            raise

    async def _walk(self, engine: AsyncEngine) -> None:
        looked_at = 0
        while looked_at < QUEUES_PER_STEP:
            partition, after = self._place
            page = await engine.run(list_partition(engine.layout, partition, after=after, limit=PAGE))
            counts = await engine.batch([count_jobs(queue) for queue in page]) if page else []
            for queue, jobs in zip(page, counts, strict=True):
                self._round.add(queue, jobs)
            looked_at += len(page)
            if len(page) == PAGE:
                self._place = (partition, page[-1].name)
            elif partition + 1 < engine.layout.partitions:
                self._place = (partition + 1, None)
            else:
                self._place = (0, None)
                self._whole, self._round = self._round, _Round(self._most)
                return


class _Round:
    """What one walk over all queues has found so far: the largest queues, and sums of all."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[int, bytes, QueueKeys, Mapping[JobState, int]]] = []
        self._all: Counter[JobState] = Counter()

    def add(self, queue: QueueKeys, jobs: Mapping[JobState, int]) -> None:
        entry = (sum(jobs.values()), queue.name, queue, jobs)
        self._all.update(jobs)
        if len(self._heap) < self._most:
            heapq.heappush(self._heap, entry)
        else:
            heapq.heappushpop(self._heap, entry)

    def largest(self) -> Iterator[tuple[int, QueueKeys]]:
        for size, _, queue, _ in self._heap:
            yield size, queue

    def rest(self) -> Mapping[JobState, int]:
        left = Counter(self._all)
        for _, _, _, jobs in self._heap:
            left.subtract(jobs)
        return left
