"""The random walk with one more question: whether the events add up to Redis's own count of each queue's jobs."""

from __future__ import annotations

from collections import Counter

from hypothesis.stateful import invariant

from queues.engine import count_live_jobs

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
            for _entry, fields in self.engine.client.xrange(f"{{tq{partition}}}:events"):
                sums[fields[b"q"]] += sum(map(change, fields[b"e"].split(b"\n")))
        for name in NAMES:
            queue = self._queue(name)
            live = self.engine.run(count_live_jobs(queue)).jobs
            if live is None:
                self.had_batches.add(name)
            if name not in self.had_batches:
                assert sums[queue.name] == live, name
