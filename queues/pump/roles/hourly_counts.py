"""Notes once an hour in the lake how many jobs each queue of a pool has by Redis's own count (`queues.lake.counts`)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from queues.engine import Engine, count_live_jobs, list_partition, stream_end
from queues.lake.names import HOUR_MS, EntryId
from queues.lake.storage import Storage

if TYPE_CHECKING:
    from queues.lake.counts import CountsWriter

PAGE: Final = 200
"""Queues that are counted in one round trip."""


@dataclass(slots=True, kw_only=True)
class _Walk:
    """Through the queues of all partitions. `after`: the name of the last queue of this partition that was counted."""

    at_ms: int
    writer: CountsWriter
    partition: int = 0
    begin: EntryId | None = None
    after: bytes | None = None


class HourlyCounts:
    """Counts the queues of one pool, a page at a time. Several pumps may: the first file of an hour stays."""

    def __init__(self, pool: str, *, url: str) -> None:
        self._pool = pool
        self._url = url
        self._storage: Storage | None = None
        self._noted_hour = -1
        self._walk: _Walk | None = None

    def go_on(self, engine: Engine, now_ms: int, *, clock_ms: int | None = None) -> bool:
        """Count a page of queues, unless the hour's counts are noted. Whether there is more to do. Raises LakeError.

        `now_ms`: by the clock of Redis; `clock_ms`: the time that scripts are to take for that, for tests.
        """
        hour = now_ms // HOUR_MS
        if hour == self._noted_hour:
            return False
        try:
            return self._go_on(engine, now_ms, clock_ms)
        except BaseException:
            self._begin_again()
            raise

    def _go_on(self, engine: Engine, now_ms: int, clock_ms: int | None) -> bool:
        from queues.lake.counts import CountsWriter, is_counted  # as the drain loads what needs pyarrow

        hour = now_ms // HOUR_MS
        storage = self._storage = self._storage or Storage(self._url)
        if self._walk is not None and self._walk.at_ms // HOUR_MS != hour:
            self._begin_again()
        if self._walk is None:
            if is_counted(storage, self._pool, now_ms):
                self._noted_hour = hour
                return False
            _remove_stale(storage, now_ms)
            writer = CountsWriter(storage, self._pool, now_ms, partitions=engine.layout.partitions)
            self._walk = _Walk(at_ms=now_ms, writer=writer)
        if self._walk.partition < engine.layout.partitions:
            if not _count_page(engine, self._walk, clock_ms):
                self._begin_again()  # the hour has ended: at midnight some would be those of another day
            return True
        self._walk.writer.put()
        self._walk, self._noted_hour = None, hour
        return False

    def _begin_again(self) -> None:
        walk, self._walk = self._walk, None
        if walk is not None:
            walk.writer.discard()


def _count_page(engine: Engine, walk: _Walk, clock_ms: int | None) -> bool:
    """Whether all of them were counted in the hour of the walk."""
    from queues.lake.counts import QueueCount  # as above

    begin = walk.begin = walk.begin or EntryId.parse(engine.run(stream_end(walk.partition)).entry)
    queues = engine.run(list_partition(engine.layout, walk.partition, after=walk.after, limit=PAGE))
    counts = engine.batch([count_live_jobs(queue, now_ms=clock_ms) for queue in queues])
    hours = [live.now_ms // HOUR_MS % 24 for live in counts]
    if any(hour != walk.writer.hour for hour in hours):
        return False
    walk.writer.add_queues(
        walk.partition,
        (
            QueueCount(queue.namespace, queue.queue, hour, live.jobs, EntryId.parse(live.entry))
            for queue, hour, live in zip(queues, hours, counts, strict=True)
        ),
    )
    if len(queues) == PAGE:
        walk.after = queues[-1].name
        return True
    end = EntryId.parse(engine.run(stream_end(walk.partition)).entry)
    walk.writer.end_partition(walk.partition, begin, end)
    walk.partition, walk.begin, walk.after = walk.partition + 1, None, None
    return True


def _remove_stale(storage: Storage, now_ms: int) -> None:
    from queues.lake.counts import remove_stale_counts  # as above

    today = datetime.fromtimestamp(now_ms / 1000, UTC).date()
    for day in (today, today - timedelta(days=1)):
        remove_stale_counts(storage, day)
