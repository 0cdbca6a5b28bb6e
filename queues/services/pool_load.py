"""How a pool is doing, for those who poll: its Redis, its pumps, its event streams, and its largest queues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

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
)

from .queue_ranking import QueueRanking

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
