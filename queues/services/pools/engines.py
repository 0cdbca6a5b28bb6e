"""Engines of pools: one for each, whether it takes writes, how loaded it is."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from queues.engine import (
    AsyncEngine,
    JobState,
    PartitionLoad,
    PumpBeat,
    QueueStats,
    StoreLoad,
    list_pumps,
    partition_load,
    read_store_load,
    stats,
    write_probe,
)
from queues.pools import open_async_engines

from ..queues.ranking import QueueRanking


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
    """`queues`: the largest. `rest`: jobs by state in all others, as of the last walk over them (see queue_ranking)."""

    store: StoreLoad
    pumps: tuple[PumpBeat, ...]
    partitions: tuple[PartitionLoad, ...]
    queues: tuple[QueueStats, ...]
    rest: Mapping[JobState, int]


async def read_pool_load(*, engine: AsyncEngine, ranking: QueueRanking) -> PoolLoad:
    """Ask now, in a bounded number of round trips. Raises StoreUnavailableError."""
    store = await read_store_load(engine)
    pumps, *partitions = await engine.batch(
        [list_pumps(), *[partition_load(partition) for partition in range(engine.layout.partitions)]]
    )
    await ranking.step(engine)
    top, queues = ranking.top, list[QueueStats]()
    for first in range(0, len(top), QUEUES_AT_ONCE):
        queues += await engine.batch([stats(queue) for queue in top[first : first + QUEUES_AT_ONCE]])
    return PoolLoad(store=store, pumps=pumps, partitions=tuple(partitions), queues=tuple(queues), rest=ranking.rest)
