"""Load of pools: whether each takes writes, how busy its engine is, and which queues hold the most jobs.

The largest queues are found with bounded work, however many there are. A pool may have a hundred thousand queues, so
they are looked at a stretch at a time: each `QueueRanking.step` counts the jobs of the next QUEUES_PER_STEP queues, and
a round is over when all partitions have been gone through. Up to that many queues, each step is a whole round. With
more, a queue that has grown is found when the walk comes to it, and what the queues outside of the top held is known as
of the last whole round.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from queues.engine import (
    AsyncEngine,
    JobState,
    PartitionLoad,
    PumpBeat,
    PusherBeat,
    QueueStats,
    StoreLoad,
    count_jobs,
    list_partition,
    list_pumps,
    list_pushers,
    partition_load,
    read_store_load,
    stats,
    write_probe,
)
from queues.engine.keys import QueueKeys
from queues.pools import open_async_engines


async def check_writes(engine: AsyncEngine, *, as_publish: bool = False) -> None:
    """Raise StoreUnavailableError unless jobs can be consumed and acked on all servers of the pool.

    With `as_publish`, raise what a publish would: StoreFullError and NotReplicatedError, too.
    """
    partitions = 1 if engine.counts_in_call else engine.layout.partitions  # one server holds all keys, or several do
    await engine.batch([write_probe(partition, as_publish=as_publish) for partition in range(partitions)])


async def stop_all_waiting() -> None:
    """Let every consumer that waits here return empty-handed, now and from now on."""
    await asyncio.gather(*(engine.stop_waiting() for engine in open_async_engines()))


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLoad:
    """`waiting`: consumers, now. Since the process began: `batches` pipelines were sent, with `operations` in them."""

    waiting: int
    batches: int
    operations: int


_seen: Final[WeakKeyDictionary[AsyncEngine, tuple[int, int]]] = WeakKeyDictionary()

_totals: Final = [0, 0]


def read_engine_load() -> EngineLoad:
    """Sums over all engines. Engines come and go with their pools; what they did stays counted."""
    waiting = 0
    for engine in open_async_engines():
        waiting += engine.waiting
        now = (int(getattr(engine, "batches", 0)), int(getattr(engine, "batched_calls", 0)))
        before = _seen.get(engine, (0, 0))
        _totals[0] += now[0] - before[0]
        _totals[1] += now[1] - before[1]
        _seen[engine] = now
    return EngineLoad(waiting=waiting, batches=_totals[0], operations=_totals[1])


QUEUES_AT_ONCE: Final = 16
"""Whose statistics are read in one round trip: unpacking those of more would hold up the event loop for longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLoad:
    """`queues`: the largest. `rest`: jobs by state in all others, as of the last walk over them (`QueueRanking`)."""

    store: StoreLoad
    pumps: tuple[PumpBeat, ...]
    pushers: tuple[PusherBeat, ...]
    partitions: tuple[PartitionLoad, ...]
    queues: tuple[QueueStats, ...]
    rest: Mapping[JobState, int]


async def read_pool_load(*, engine: AsyncEngine, ranking: QueueRanking) -> PoolLoad:
    """Ask now, in a bounded number of round trips. Raises StoreUnavailableError."""
    store = await read_store_load(engine)
    pumps, pushers, *partitions = await engine.batch(
        [list_pumps(), list_pushers(), *[partition_load(partition) for partition in range(engine.layout.partitions)]]
    )
    await ranking.step(engine)
    top, queues = ranking.top, list[QueueStats]()
    for first in range(0, len(top), QUEUES_AT_ONCE):
        queues += await engine.batch([stats(queue) for queue in top[first : first + QUEUES_AT_ONCE]])
    return PoolLoad(
        store=store, pumps=pumps, pushers=pushers, partitions=tuple(partitions), queues=tuple(queues), rest=ranking.rest
    )


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
