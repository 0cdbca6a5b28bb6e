"""The random walk with two more questions: whether the events add up to Redis's own count of each queue's jobs, and
whether Redis counts the events of each day as there are."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime

from hypothesis.stateful import invariant

from queues.engine import appended_events, count_live_jobs

from .walk import NAMES, Walk

ARRIVALS = frozenset({b"published", b"respawned"})
DEPARTURES = frozenset({b"acked", b"expired", b"dead"})


def change(line: bytes) -> int:
    """As reports count it (`queues.reports.tables.anchors`)."""
    kind, _job, attempt, *_others, error = line.split(b"\t")
    if kind == b"deleted":
        return 0 if error else -1
    if kind == b"destroyed":
        return -int(attempt or 0)
    return (kind in ARRIVALS) - (kind in DEPARTURES)


class CountedWalk(Walk):
    """After each step the sums of all events so far are held against the counts.

    Events tell of each member of a batch, but of the deletion of a batch only once. So queues that have had one are
    left out from then on.
    """

    def __init__(self) -> None:
        super().__init__()
        self.had_batches: set[str] = set()

    @invariant()
    def redis_is_sound_and_agrees_with_the_model(self) -> None:
        """A stroll asks this after each of its steps, too."""
        super().redis_is_sound_and_agrees_with_the_model()
        self.events_add_up_to_the_counts()

    def events_add_up_to_the_counts(self) -> None:
        sums: Counter[bytes] = Counter()
        for partition in range(self.engine.layout.partitions):
            by_day: Counter[date] = Counter()
            for _entry, fields in self.engine.client.xrange(f"{{tq{partition}}}:events"):
                lines = fields[b"e"].split(b"\n")
                sums[fields[b"q"]] += sum(map(change, lines))
                by_day[datetime.fromtimestamp(int(fields[b"t"]) / 1000, UTC).date()] += len(lines)
            assert self.engine.run(appended_events(partition, since=date(1970, 1, 1))).by_day == by_day
        for name in NAMES:
            queue = self._queue(name)
            live = self.engine.run(count_live_jobs(queue)).jobs
            if live is None:
                self.had_batches.add(name)
            if name not in self.had_batches:
                assert sums[queue.name] == live, name
