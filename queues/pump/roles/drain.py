"""Drain: takes events out of the streams and writes them to the lake.

Each event comes into the lake once, whatever is killed and however many drains there are: what is to be written is put
down in Redis first, and taken out of the stream last (docs/lake.md has the argument, step by step). When the lake
cannot be written, events stay in the stream, up to its cap; what the cap then drops is noted in the lake as a gap.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from queues.engine import (
    Counts,
    DrainPlan,
    DrainState,
    Engine,
    EntryRange,
    StreamEntries,
    divide_events_memory,
    drain_state,
    finish_drain,
    lend_events_memory,
    plan_drain,
    read_events,
)
from queues.lake.files import Gap
from queues.lake.names import DrainedName, EntryId, drained_name

if TYPE_CHECKING:
    from queues.lake.lines import Entries
    from queues.lake.writer import Writer

logger = logging.getLogger(__name__)

INTERVAL_S: Final = 0.5
"""How often it looks. A partition is drained when its oldest event is old enough, and at once when its events take
`events_full` bytes: the script by which they come to that wakes the drain. The look stands in for lost messages."""

PLAN_EVENTS: Final = 50_000
"""So many events, and less than a page more, are written at a time."""

TAKE_OVER_MS: Final = 5_000
"""After so long without work on a plan, its process is taken for dead. That does no harm if it only slept."""


class Drain:
    """Drains the partitions of one pool in turn. `every_s`: how old an event may get in a stream that is not full.

    `everything`: take what is there when it is first called, however little, and then no more.
    """

    def __init__(
        self,
        pool: str,
        *,
        url: str,
        every_s: float,
        everything: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pool = pool
        self._url = url
        self._every_s = every_s
        self._everything = everything
        self._clock = clock
        self._seen: dict[int, tuple[str, float]] = {}
        self._until_ms: int | None = None
        self._writer: Writer | None = None
        self._latest = -1
        self._begun: dict[int, EntryRange] = {}

    def tick(self, engine: Engine, now_ms: int | None) -> Counts:
        """Write a bounded part of one partition. `more`: it, or another one, may have more. Raises LakeError."""
        partitions = range(engine.layout.partitions)
        looks = [drain_state(partition, now_ms=now_ms) for partition in partitions]
        states: list[DrainState] = engine.batch(looks)
        if self._until_ms is None:
            self._until_ms = states[0].now_ms
        self._lend(engine, states, servers=engine.group_by_server(looks))
        full = engine.layout.events_full
        due = [partition for partition in partitions if self._is_due(partition, states[partition], full)]
        events = 0
        if due:
            # In turn: what is wrong with one partition's files must not hold up the others.
            partition = next((partition for partition in due if partition > self._latest), due[0])
            self._latest = partition
            events = self._drain(engine, partition, states[partition], now_ms)
        return Counts(queues=int(bool(due)), jobs=events, more=bool(due))

    def _lend(self, engine: Engine, states: list[DrainState], *, servers: list[list[int]]) -> None:
        """Let partitions with many events use the memory that the others leave unused. Of a cluster, on each node."""
        share = engine.layout.events_cap
        for places in servers:
            lent = divide_events_memory([states[place].bytes for place in places], share=share)
            wanted: list[int | None] = [None] * len(places) if lent is None else [*lent]
            changes = [(place, most) for place, most in zip(places, wanted, strict=True) if most != states[place].most]
            # Those that get less first: all together never have more than the pool's memory for events.
            changes.sort(key=lambda change: (change[1] or share) > (states[change[0]].most or share))
            if changes:
                engine.batch([lend_events_memory(place, most) for place, most in changes])

    def _is_due(self, partition: int, state: DrainState, full: int) -> bool:
        if state.plan is not None:
            is_mine = self._begun.get(partition) == state.plan
            return is_mine or self._everything or state.idle_ms >= TAKE_OVER_MS
        if state.oldest is None:
            return False
        oldest_ms = EntryId.parse(state.oldest).ms
        if self._everything:
            return oldest_ms <= (self._until_ms or 0)
        if state.bytes >= full or state.now_ms - oldest_ms >= self._every_s * 1000:
            return True
        # By the clock of Redis it is young, or not even born: that clock may have been set back by a year.
        entry, since = self._seen.get(partition, (None, 0.0))
        if entry != state.oldest:
            since = self._clock()
            self._seen[partition] = (state.oldest, since)
        return self._clock() - since >= self._every_s

    def _drain(self, engine: Engine, partition: int, state: DrainState, now_ms: int | None) -> int:
        """Carry out a plan. The number of events that were taken out of the stream."""
        from queues.lake.writer import Writer  # loads pyarrow: a pump starts without it, and sooner

        entries = read_plan(engine, partition, state.plan)
        if state.plan is None and not entries.ids:
            return 0
        last = state.plan.last if state.plan else entries.ids[-1].decode()
        plan = engine.run(plan_drain(partition, last, now_ms=now_ms))
        if plan is None:
            return 0  # others have taken it meanwhile
        if plan.entries.last != last:
            entries = read_plan(engine, partition, plan.entries)
        self._begun[partition] = plan.entries
        writer = self._writer = self._writer or Writer(self._url, self._pool)
        entries = _within(entries, plan.entries)
        name = self._name(partition, plan.entries)
        run, is_written = writer.leading_run(name, entries)
        if run < len(entries.ids):
            return self._narrow(engine, partition, plan, entries.ids[run - 1].decode(), now_ms)
        if plan.gap:
            self._tell_gap(writer, self._gap(partition, plan), is_new=plan.is_new)
        written = 0
        if not is_written:
            if engine.run(drain_state(partition, now_ms=now_ms)).plan != plan.entries:
                return 0  # this process was asleep, and others have done it
            written = writer.write(name, entries)
        return engine.run(finish_drain(partition, plan.entries, written=written, now_ms=now_ms))

    def _narrow(self, engine: Engine, partition: int, plan: DrainPlan, last: str, now_ms: int | None) -> int:
        """Only a part of what was planned is in the lake already, so each part gets a plan of its own."""
        narrower = engine.run(plan_drain(partition, last, instead=plan.entries, now_ms=now_ms))
        if narrower is not None:
            self._begun[partition] = narrower.entries
        return 0

    def _name(self, partition: int, entries: EntryRange) -> DrainedName:
        return drained_name(self._pool, partition, EntryId.parse(entries.first), EntryId.parse(entries.last))

    def _tell_gap(self, writer: Writer, gap: Gap, *, is_new: bool) -> None:
        """Note it in the lake, and warn once: a plan that is carried out again writes the same gap."""
        writer.write_gap(gap)
        if is_new:
            logger.warning(
                "events were dropped before they were drained: reports will lack them",
                extra={"action": "events.gap", **asdict(gap)},
            )

    def _gap(self, partition: int, plan: DrainPlan) -> Gap:
        return Gap(
            pool=self._pool,
            partition=partition,
            dropped=plan.gap,
            from_ms=None if plan.done is None else EntryId.parse(plan.done).ms,
            until_ms=EntryId.parse(plan.entries.first).ms,
        )


def read_plan(engine: Engine, partition: int, plan: EntryRange | None) -> Entries:
    """The entries of a plan that are there still; without one, those that should be the next."""
    from queues.lake.lines import Entries  # as above

    ids: list[bytes] = []
    times: list[bytes] = []
    queues: list[bytes] = []
    lines: list[bytes] = []
    events = 0
    page: StreamEntries | None = None
    while page is None or (page.ids and (plan is not None or events < PLAN_EVENTS)):
        after = ids[-1].decode() if ids else None
        page = engine.run(read_events(partition, after=after, until=plan and plan.last))
        ids += page.ids
        times += page.times
        queues += page.queues
        lines += page.lines
        events += len(page.ids) + sum(text.count(b"\n") for text in page.lines)
    return Entries(ids, times, queues, lines)


def _within(entries: Entries, plan: EntryRange) -> Entries:
    """Between reading and planning, the cap may have dropped the oldest, or another drain taken them."""
    first, last = EntryId.parse(plan.first), EntryId.parse(plan.last)
    start, end = 0, len(entries.ids)
    while start < end and EntryId.parse(entries.ids[start].decode()) < first:
        start += 1
    while end > start and EntryId.parse(entries.ids[end - 1].decode()) > last:
        end -= 1
    return entries.part(start, end)
