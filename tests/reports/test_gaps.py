"""Every figure of a generated day of which the stream was cut, against plain Python and Redis's own counts."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from queues.lake.counts import QueueCount
from queues.lake.files import Gap
from queues.lake.names import HOUR_MS, EntryId, drained_name
from queues.lake.writer import Writer

from . import expected
from .conftest import CountedDays
from .made import Event, event, ms, read_table, write_lake
from .test_anchors import BEFORE as DAY
from .test_anchors import DAY as NEXT
from .test_anchors import PARTITIONS, counted, of, partition_in_lake

MIDNIGHT: Final = ms(DAY)
FIRST_HOUR: Final = 12
"""Before it nothing happens: each hour is eight more files."""

COUNTED_HOURS: Final = (15, 21)
"""When Redis is counted. Nothing happens in the tenth of a second after it. What is lost is lost before the second."""

LAST_COUNT: Final = COUNTED_HOURS[-1]
CUT, WHOLE = POOLS = ("cut", "whole")
QUEUES: Final = tuple(f"q{number}" for number in range(12))
JOBS: Final = 25
"""Of each queue."""

ENDS: Final = ("acked", "dead", "expired")


def life_of_job(dice: random.Random, job: str) -> list[Event]:
    """A job's events, in order; those that would be after the day are not there."""
    at = MIDNIGHT + dice.randrange(FIRST_HOUR * HOUR_MS, 24 * HOUR_MS)
    same: dict[str, Any] = {"job": job, "published": at, "size": dice.randrange(100)}
    made = [event("published", at, **same)]
    for attempt in (1, 2, 3):
        wait, run = dice.randrange(2 * HOUR_MS), dice.randrange(HOUR_MS)
        if dice.random() < 0.05:
            made.append(event("expired", at + wait, **(same | {"attempt": attempt - 1})))
            break
        same |= {"attempt": attempt, "worker": f"w-{dice.randrange(3)}"}
        made.append(event("consumed", at + wait, **same, wait_ms=wait))
        at += wait + run
        kind = dice.choice(("acked", "acked", "acked", "failed", "lease_lost"))
        error = f"timeout after {dice.randrange(99)} ms" if kind == "failed" else None
        made.append(event(kind, at, **same, run_ms=run, error=error))
        if kind == "acked":
            break
        if attempt == 3:
            made.append(event("dead", at, **same, error=error or "lease lost"))
    return [one for one in made if one["at"] < MIDNIGHT + 24 * HOUR_MS]


def happened_in(pool: str) -> list[Event]:
    """What Redis appended on the day, whatever became of it."""
    dice = random.Random(pool)
    lives = [
        one | {"pool": pool, "queue": queue}
        for queue in QUEUES
        for number in range(JOBS)
        for one in life_of_job(dice, f"01J{queue}{number:03d}")
    ]
    counting = [range(count_time(hour), count_time(hour) + 100) for hour in COUNTED_HOURS]
    events = [one for one in lives if not any(one["at"] in time for time in counting)]
    return sorted(events, key=lambda one: one["at"])


def count_time(hour: int) -> int:
    return MIDNIGHT + hour * HOUR_MS


def live_jobs(events: Iterable[Event], queue: str, until: int) -> int:
    """How many jobs of the queue Redis has at that time, when nothing was there at midnight."""
    kinds = [one["kind"] for one in events if one["queue"] == queue and one["at"] < until]
    return kinds.count("published") - sum(kinds.count(kind) for kind in ENDS)


def cut_stream(events: Sequence[Event]) -> tuple[list[Event], list[Gap]]:
    """Of two partitions of four, what is appended in some hours is dropped before a drain comes: what is left."""
    dice = random.Random(17)
    left, gaps = list(events), []
    for partition in dice.sample(range(PARTITIONS), 2):
        begin = count_time(COUNTED_HOURS[0]) + dice.randrange(2 * HOUR_MS)
        end = begin + 2 * HOUR_MS + dice.randrange(2 * HOUR_MS)
        lost = [one for one in left if partition_in_lake(one["queue"]) == partition and begin <= one["at"] < end]
        left = [one for one in left if one not in lost]
        gaps.append(Gap(pool=CUT, partition=partition, dropped=len(lost), from_ms=begin, until_ms=end))
    return left, gaps


def write_drained(lake: Path, pool: str, events: Sequence[Event]) -> None:
    """Each partition's events in files of their own, by hour."""
    for partition in range(PARTITIONS):
        mine = [one for one in events if partition_in_lake(one["queue"]) == partition]
        for hour in {one["at"] // HOUR_MS for one in mine}:
            name = drained_name(pool, partition, EntryId(hour * HOUR_MS, 0), EntryId((hour + 1) * HOUR_MS - 1, 0))
            write_lake(lake, [one for one in mine if one["at"] // HOUR_MS == hour], name=str(name))


def note_counts(lake: Path, pool: str, happened: Sequence[Event]) -> None:
    """As the drain does: only of queues that have jobs."""
    for hour in COUNTED_HOURS:
        time = count_time(hour)
        found = {queue: live_jobs(happened, queue, time) for queue in QUEUES}
        counts: list[QueueCount] = [of(queue, jobs, hour=hour, noon=time) for queue, jobs in found.items() if jobs]
        counted(lake, time, *counts, pool=pool, noon=time)


@dataclass(frozen=True, slots=True, kw_only=True)
class CutStream:
    """Of each pool what happened on DAY and what of it is in the lake."""

    happened: dict[str, list[Event]]
    left: dict[str, list[Event]]
    gaps: list[Gap]


def write_pools(lake: Path) -> CutStream:
    """Two pools, one of which has gaps on DAY."""
    happened = {pool: happened_in(pool) for pool in POOLS}
    left = dict(happened)
    left[CUT], gaps = cut_stream(happened[CUT])
    for pool in POOLS:
        write_drained(lake, pool, left[pool])
        note_counts(lake, pool, happened[pool])
    for gap in gaps:
        Writer(str(lake), CUT).write_gap(gap)
    later = [event("published", ms(NEXT), pool=pool, queue=queue, job="01JN") for pool in POOLS for queue in QUEUES]
    write_lake(lake, later)
    return CutStream(happened=happened, left=left, gaps=gaps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """Reports of both days, and of each pool what happened on DAY and what of it is in the lake."""

    out: Path
    summary: dict[str, Any]
    happened: dict[str, list[Event]]
    left: dict[str, list[Event]]
    gaps: list[Gap]

    def figures(self, day: str, pool: str) -> dict[tuple[str, int | None], dict[str, Any]]:
        """(queue, hour) → row."""
        rows = [row for row in read_table(self.out, day, "figures") if row["pool"] == pool]
        return {(row["queue"], row["hour"]): row for row in rows}

    def live_jobs(self, pool: str, queue: str, hour: int | None) -> int:
        """By Redis, at the end of the hour, or of the day."""
        until = count_time(24 if hour is None else hour + 1)
        return sum(live_jobs(self.happened[pool], one, until) for one in ([queue] if queue else QUEUES))


@pytest.fixture(scope="module")
def reported(counted_days: CountedDays) -> Reported:
    """The pools of `write_pools`; there are others beside them."""
    stream = counted_days.stream
    return Reported(
        out=counted_days.out,
        summary=counted_days.summaries[DAY],
        happened=stream.happened,
        left=stream.left,
        gaps=stream.gaps,
    )


def test_counts_and_percentiles_are_those_of_the_events_that_are_there(reported: Reported) -> None:
    left = [one for pool in POOLS for one in reported.left[pool]]
    rows = [row for row in read_table(reported.out, DAY, "figures") if row["pool"] in POOLS]
    found = {tuple(row[name] for name in (*expected.SCOPE, "hour")): row for row in rows}
    told = expected.figures(left, [])

    assert len(left) < sum(map(len, reported.happened.values())) * 0.95
    assert found.keys() == told.keys()
    for key, figures in told.items():
        assert {name: found[key][name] for name in figures} == figures, key
    expected.check_other_tables(reported.out, DAY, today=left, before=[], pools=POOLS)


@pytest.mark.parametrize("pool", POOLS)
def test_from_the_last_count_on_backlogs_are_what_redis_has(reported: Reported, pool: str) -> None:
    """Of queues and of their namespace, although events of hours before are missing in one pool."""
    rows = reported.figures(DAY, pool)
    later = {at: row["backlog"] for at, row in rows.items() if at[1] is None or at[1] >= LAST_COUNT}

    assert later == {(queue, hour): reported.live_jobs(pool, queue, hour) for queue, hour in later}
    assert {queue for queue, hour in later if hour is None} == {*QUEUES, ""}


def test_hours_before_the_last_count_go_back_from_it_by_the_events_that_are_there(reported: Reported) -> None:
    rows = reported.figures(DAY, CUT)
    last_count = count_time(LAST_COUNT)
    by_events = {queue: live_jobs(reported.left[CUT], queue, last_count) for queue in QUEUES}
    assert by_events != {queue: live_jobs(reported.happened[CUT], queue, last_count) for queue in QUEUES}
    for (queue, hour), row in rows.items():
        if hour is not None and hour < LAST_COUNT:
            since = [one for at, one in rows.items() if at[0] == queue and at[1] is not None and at[1] > hour]
            moved = sum(one["arrivals"] - one["departures"] for one in since)
            assert row["backlog"] == max(reported.live_jobs(CUT, queue, None) - moved, 0), (queue, hour)


def test_where_no_event_is_missing_all_hours_are_what_redis_had(reported: Reported) -> None:
    found = {at: row["backlog"] for at, row in reported.figures(DAY, WHOLE).items()}
    assert found == {(queue, hour): reported.live_jobs(WHOLE, queue, hour) for queue, hour in found}


def test_no_base_of_the_pool_with_gaps_is_known_and_each_of_the_other_is(reported: Reported) -> None:
    for pool in POOLS:
        assert {row["backlog_base_known"] for row in reported.figures(DAY, pool).values()} == {pool == WHOLE}, pool


def test_the_next_day_begins_with_what_redis_has(reported: Reported) -> None:
    """Each queue gets one job more. What comes from a day with gaps is not known until Redis is counted again."""
    for pool in POOLS:
        found = reported.figures(NEXT, pool)
        for queue in QUEUES:
            row = found[queue, None]
            wanted = (reported.live_jobs(pool, queue, None) + 1, pool == WHOLE)
            assert (row["backlog"], row["backlog_base_known"]) == wanted, (pool, queue)


def test_the_summary_tells_of_each_gap(reported: Reported) -> None:
    summary = reported.summary
    told = {
        (one["pool"], one["partition"], one["dropped"], one["from_ms"], one["until_ms"])
        for one in summary["gaps"]
        if one["pool"] in POOLS
    }
    assert told == {(gap.pool, gap.partition, gap.dropped, gap.from_ms, gap.until_ms) for gap in reported.gaps}
    assert all(gap.dropped for gap in reported.gaps)
    texts = [
        one["text"]
        for one in summary["warnings"]
        if one["kind"] == "gap" and any(f" of pool {pool}, " in one["text"] for pool in POOLS)
    ]
    for gap in reported.gaps:
        words = f"up to {gap.dropped:,} events of pool {CUT}, partition {gap.partition}, were dropped between "
        assert [text for text in texts if text.startswith(words)], gap
    assert len(texts) == len(reported.gaps)
