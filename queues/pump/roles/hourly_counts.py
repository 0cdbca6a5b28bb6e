"""Notes once an hour in the lake how many jobs each queue of a pool has by Redis's own count (`queues.lake.counts`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from queues.engine import Engine, count_live_jobs, list_partition, stream_end
from queues.lake.names import HOUR_MS, EntryId
from queues.lake.storage import Storage

if TYPE_CHECKING:
    from queues.lake.counts import CountedPartition, QueueCount

PAGE: Final = 200
"""Queues that are counted in one round trip."""


@dataclass(slots=True, kw_only=True)
class _Walk:
    """Through the queues of all partitions. `after`: the name of the last queue of this partition that was counted."""

    at_ms: int
    done: list[CountedPartition] = field(default_factory=list)
    begin: EntryId | None = None
    after: bytes | None = None
    found: list[QueueCount] = field(default_factory=list)


class HourlyCounts:
    """Counts the queues of one pool, a page at a time. Several pumps may: the first file of an hour stays."""

    def __init__(self, pool: str, *, url: str) -> None:
        self._pool = pool
        self._url = url
        self._storage: Storage | None = None
        self._noted_hour = -1
        self._walk: _Walk | None = None

    def tick(self, engine: Engine, now_ms: int, *, clock_ms: int | None = None) -> bool:
        """Count a page of queues, unless the hour's counts are noted. Whether there is more to do. Raises LakeError.

        `now_ms`: by the clock of Redis; `clock_ms`: the time that scripts are to take for that, for tests.
        """
        hour = now_ms // HOUR_MS
        if hour == self._noted_hour:
            return False
        from queues.lake.counts import is_counted, write_counts  # as the drain loads what needs pyarrow

        storage = self._storage = self._storage or Storage(self._url)
        walk = self._walk
        if walk is None or walk.at_ms // HOUR_MS != hour:
            if is_counted(storage, self._pool, now_ms):
                self._noted_hour = hour
                return False
            walk = self._walk = _Walk(at_ms=now_ms)
        if len(walk.done) < engine.layout.partitions:
            _count_page(engine, walk, clock_ms)
            return True
        self._walk = None
        if any(queue.hour != hour % 24 for part in walk.done for queue in part.queues):
            return True  # the hour ended while they were counted: at midnight some would be those of another day
        write_counts(storage, self._pool, walk.at_ms, walk.done)
        self._noted_hour = hour
        return False


def _count_page(engine: Engine, walk: _Walk, clock_ms: int | None) -> None:
    from queues.lake.counts import CountedPartition, QueueCount  # as above

    partition = len(walk.done)
    begin = walk.begin = walk.begin or EntryId.parse(engine.run(stream_end(partition)).entry)
    queues = engine.run(list_partition(engine.layout, partition, after=walk.after, limit=PAGE))
    counts = [count_live_jobs(queue, now_ms=clock_ms) for queue in queues]
    for queue, live in zip(queues, engine.batch(counts), strict=True):
        hour = live.now_ms // HOUR_MS % 24
        walk.found.append(QueueCount(queue.namespace, queue.queue, hour, live.jobs, EntryId.parse(live.entry)))
        walk.after = queue.name
    if len(queues) < PAGE:
        end = EntryId.parse(engine.run(stream_end(partition)).entry)
        walk.done.append(CountedPartition(walk.found, begin, end))
        walk.begin, walk.after, walk.found = None, None, []
