"""Survey: goes round all queues, records their whole minutes, and puts down what it found for dashboards to read.

It may take a small share of time only, so a round takes the longer the more queues there are; each tick looks at as
many of them as fit into its share. One pump at a time surveys a pool. What a crash between two calls loses are a
stretch's minutes in the sums of their namespaces; the queues' own trends have them.
"""

from __future__ import annotations

import os
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from queues.engine import (
    WHOLE_POOL,
    Counts,
    Engine,
    FoundQueue,
    Operation,
    QueueKeys,
    SurveyedQueue,
    SurveyHead,
    add_minutes,
    ask_store_load,
    list_active,
    list_partition,
    read_survey,
    survey,
    take_survey,
    write_survey,
)
from queues.engine.stats.minutes import MINUTE_MS

INTERVAL_S: Final = 0.2
SHARE: Final = 0.016
"""Of this thread's time that may go into looks at queues, beyond the round trip of their call. About half of that is
Redis's, the rest is this process's, which may take 5 % of a core with ten thousand queues."""

ROUND_MIN_S: Final = 2.0
"""From the beginning of a round to that of the next one."""

HOLD_MS: Final = 10_000
TAKE_AGAIN_S: Final = 3.0
STRETCH_FIRST: Final = 50
STRETCH_MIN: Final = 5
STRETCH_MAX: Final = 500
QUEUES_PUT_DOWN: Final = 50_000
"""More queues than this are counted, but not put down one by one."""

NAMESPACES_PER_CALL: Final = 50
PARTITIONS_AT_ONCE: Final = 16
PAGE: Final = 100
COUNTS: Final = 7


@dataclass(frozen=True, slots=True)
class _Sums:
    """By minute: the seven counts, and how many jobs waited and ran how long."""

    counts: dict[int, list[int]] = field(default_factory=dict)
    durations: dict[int, Counter[tuple[str, int]]] = field(default_factory=dict)

    def add(self, minute: int, counts: Sequence[int], durations: Mapping[tuple[str, int], int]) -> None:
        known = self.counts.setdefault(minute, [0] * COUNTS)
        for index, count in enumerate(counts):
            known[index] += count
        self.durations.setdefault(minute, Counter()).update(durations)


class Survey:
    """The rounds over one pool's queues."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pump = f"{os.getpid()}:{secrets.token_hex(6)}"
        self._take_at = self._round_at = float("-inf")
        self._is_mine = False
        self._round_trip_s = 0.0
        self._stretch = STRETCH_FIRST
        self._round: _Round | None = None
        self._written: dict[str, tuple[int, tuple[int, ...]]] = {}

    def tick(self, engine: Engine, now_ms: int | None) -> Counts:
        """Look at the next stretch. `more`: the round is not over."""
        now = self._clock()
        if now >= self._take_at:
            self._is_mine = engine.run(take_survey(self._pump, hold_ms=HOLD_MS))
            self._round_trip_s = self._clock() - now
            self._take_at = now + TAKE_AGAIN_S
        if not self._is_mine:
            self._round = None
            return Counts()
        if self._round is None:
            if now < self._round_at:
                return Counts()
            self._round_at = now + ROUND_MIN_S
            self._round = _Round(engine, began_at=now)
        try:
            return self._go_on(engine, self._round, now_ms)
        except BaseException:
            self._round = None
            raise

    def _go_on(self, engine: Engine, this: _Round, now_ms: int | None) -> Counts:
        queues = this.next_queues(self._stretch, now_ms)
        began = self._clock()
        found: list[SurveyedQueue] = engine.batch([survey(queue, now_ms=now_ms) for queue in queues]) if queues else []
        busy = self._clock() - began - self._round_trip_s
        this.add(found)
        if sums := _sums(found):
            engine.batch(
                [
                    add_minutes(namespace, its.counts, durations=its.durations, now_ms=now_ms)
                    for namespace, its in sums.items()
                ]
            )
        if len(found) >= self._stretch // 2 and busy > 0:
            fitting = round(len(found) * SHARE * INTERVAL_S / busy)
            self._stretch = max(STRETCH_MIN, min(STRETCH_MAX, fitting, 2 * self._stretch))
        if this.is_over:
            self._put_down(engine, this, now_ms)
            self._round = None
        return Counts(queues=len(found), more=self._round is not None)

    def _put_down(self, engine: Engine, this: _Round, now_ms: int | None) -> None:
        """What the whole round has found. Namespaces without queues are forgotten."""
        if not this.queues:  # then no reply has said what time it is
            this.latest_ms = engine.run(read_survey(now_ms=now_ms)).now_ms
        names = sorted(this.found)
        for first in range(0, len(names), NAMESPACES_PER_CALL):
            part = names[first : first + NAMESPACES_PER_CALL]
            engine.run(write_survey({name: this.found[name] for name in part}))
        head = SurveyHead(
            taken_at_ms=this.latest_ms,
            took_ms=round((self._clock() - this.began_at) * 1000),
            queues=this.queues,
            left_out=this.left_out,
            store=ask_store_load(engine),
        )
        if engine.run(write_survey({}, head=head)) > len(names) + 1:
            gone = sorted(engine.run(read_survey()).contents.keys() - this.found.keys())
            engine.run(write_survey({}, gone=gone))
        self._add_jobs(engine, this, now_ms)

    def _add_jobs(self, engine: Engine, this: _Round, now_ms: int | None) -> None:
        """Jobs by state, where they have changed; of the whole pool in each minute, to show that there was a survey."""
        minute = this.latest_ms // MINUTE_MS
        gone = dict.fromkeys(self._written.keys() - this.jobs.keys(), (0,) * 6)
        now = {name: tuple(jobs) for name, jobs in this.jobs.items()} | gone
        changed = [
            name
            for name, jobs in now.items()
            if self._written.get(name, (0, ()))[1] != jobs or (name == WHOLE_POOL and self._written[name][0] != minute)
        ]
        for first in range(0, len(changed), NAMESPACES_PER_CALL):
            part = changed[first : first + NAMESPACES_PER_CALL]
            engine.batch([add_minutes(name, {}, jobs=now[name], now_ms=now_ms) for name in part])
        self._written = {name: (minute, jobs) for name, jobs in now.items() if name not in gone}


class _Round:
    """One walk over all queues: in each partition those in the registry, by name, then those that only have counts."""

    def __init__(self, engine: Engine, *, began_at: float) -> None:
        self.began_at = began_at
        self.queues = self.left_out = self.latest_ms = 0
        self.is_over = False
        self.found: dict[str, list[FoundQueue]] = defaultdict(list)
        self.jobs: dict[str, list[int]] = {WHOLE_POOL: [0] * 6}
        self._names = self._walk(engine)
        self._now_ms: int | None = None

    def next_queues(self, limit: int, now_ms: int | None) -> Sequence[QueueKeys]:
        """The next queues, at most `limit`. `is_over` once there are no more."""
        self._now_ms = now_ms
        queues = list(islice(self._names, limit))
        self.is_over = len(queues) < limit
        return queues

    def add(self, surveyed: Sequence[SurveyedQueue]) -> None:
        """Note what was found."""
        for one in surveyed:
            queue = one.found
            self.latest_ms = max(self.latest_ms, one.now_ms)
            states = (queue.ready, queue.delayed, queue.retry, queue.working, queue.dead, queue.completed)
            for name in (queue.namespace, WHOLE_POOL):
                sums = self.jobs.setdefault(name, [0] * 6)
                for index, jobs in enumerate(states):
                    sums[index] += jobs
            self.queues += 1
            if self.queues > QUEUES_PUT_DOWN:
                self.left_out += 1
            else:
                self.found[queue.namespace].append(queue)

    def _walk(self, engine: Engine) -> Iterator[QueueKeys]:
        """The first pages of a few partitions are asked for at once: most have no more."""
        for first in range(0, engine.layout.partitions, PARTITIONS_AT_ONCE):
            partitions = range(first, min(first + PARTITIONS_AT_ONCE, engine.layout.partitions))
            registered = engine.batch([self._registered(engine, partition, None) for partition in partitions])
            active = engine.batch([self._active(engine, partition, 0) for partition in partitions])
            for partition, names, others in zip(partitions, registered, active, strict=True):
                yield from self._partition(engine, partition, names, others)

    def _partition(
        self, engine: Engine, partition: int, names: list[QueueKeys], others: list[QueueKeys]
    ) -> Iterator[QueueKeys]:
        seen: set[bytes] = set()
        while names:
            seen.update(queue.name for queue in names)
            yield from names
            names = engine.run(self._registered(engine, partition, names[-1].name)) if len(names) == PAGE else []
        start = 0
        while others:
            fresh = [queue for queue in others if queue.name not in seen]
            seen.update(queue.name for queue in fresh)
            yield from fresh
            start += PAGE
            others = engine.run(self._active(engine, partition, start)) if len(others) == PAGE else []

    def _registered(self, engine: Engine, partition: int, after: bytes | None) -> Operation[list[QueueKeys]]:
        return list_partition(engine.layout, partition, after=after, limit=PAGE)

    def _active(self, engine: Engine, partition: int, start: int) -> Operation[list[QueueKeys]]:
        return list_active(engine.layout, partition, start=start, limit=PAGE, now_ms=self._now_ms)


def _sums(surveyed: Sequence[SurveyedQueue]) -> dict[str, _Sums]:
    """What was recorded, by namespace, and of the whole pool."""
    sums: dict[str, _Sums] = defaultdict(_Sums)
    for one in surveyed:
        for minute, row in one.recorded.items():
            counts = [int(count or 0) for count in row.split(b",")[:COUNTS]]
            if any(counts):
                for name in (one.found.namespace, WHOLE_POOL):
                    sums[name].add(minute, counts, one.durations.get(minute, {}))
    return sums
