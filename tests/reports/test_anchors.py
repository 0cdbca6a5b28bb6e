"""Backlogs follow Redis's own hourly counts, and a report says where these and the events do not agree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from queues.engine import Engine, ack, consume, count_live_jobs, partition_load, publish
from queues.engine.keys import partition_of
from queues.lake.counts import CountsWriter, QueueCount
from queues.lake.names import HOUR_MS, EntryId, drained_name
from queues.lake.storage import Storage
from queues.pump.roles.drain import Drain
from queues.pump.roles.hourly_counts import HourlyCounts

from .conftest import CountedDays
from .made import Event, empty_engine, event, ms, read_table, write_lake
from .test_history import backlogs

BEFORE: Final = "2026-03-29"
DAY: Final = "2026-03-30"
NOON: Final = ms(f"{DAY}T12:00")
NOON_BEFORE: Final = ms(f"{BEFORE}T12:00")
PARTITIONS: Final = 4


def jobs(kind: str, at: int, number: int, **others: Any) -> list[Event]:
    others |= {"published": at, "attempt": 1, "run_ms": 1, "size": 1}
    return [event(kind, at, job=f"J{each}", **others) for each in range(number)]


def counted(lake: Path, at: int, *queues: QueueCount, pool: str = "default", noon: int = NOON) -> None:
    """Write counts of an hour; all partitions were looked through between two events at noon."""
    writer = CountsWriter(Storage(str(lake)), pool, at, partitions=PARTITIONS)
    for number in range(PARTITIONS):
        writer.add_queues(
            number, (one for one in queues if partition_of(one.namespace, one.queue, PARTITIONS) == number)
        )
        writer.end_partition(number, EntryId(noon, 0), EntryId(noon + 50, 0))
    writer.put()


def write_drained(lake: Path, told: list[Event], pool: str = "default") -> None:
    """As drains do it: each partition's events in files of their own. All are behind the last event that is told of."""
    last = max(one["at"] for one in told)
    ticks = (
        next(f"tick{number}" for number in range(1_000) if partition_in_lake(f"tick{number}") == partition)
        for partition in range(PARTITIONS)
    )
    told = [
        *told,
        *(one for queue in ticks for kind in ("published", "acked") for one in jobs(kind, last, 1, queue=queue)),
    ]
    told = [one | {"pool": pool} for one in told]
    for partition in range(PARTITIONS):
        mine = [one for one in told if partition_in_lake(one["queue"]) == partition]
        for hour in {one["at"] // HOUR_MS * HOUR_MS for one in mine}:
            name = drained_name(pool, partition, EntryId(hour, 0), EntryId(hour + HOUR_MS - 1, 0))
            write_lake(lake, [one for one in mine if one["at"] // HOUR_MS * HOUR_MS == hour], name=str(name))


def partition_in_lake(queue: str) -> int:
    return partition_of("ns", queue, PARTITIONS)


def of(queue: str, number: int | None, *, hour: int = 12, noon: int = NOON) -> QueueCount:
    return QueueCount("ns", queue, hour, number, EntryId(noon + 20, 10**9))


def note_counts(pool: str, engine: Engine, lake: Path) -> None:
    counts = HourlyCounts(pool, url=str(lake))
    while counts.go_on(engine, NOON_BEFORE, clock_ms=NOON_BEFORE):
        pass


def drain_all(pool: str, engine: Engine, lake: Path) -> None:
    drain = Drain(pool, url=str(lake), every_s=300, everything=True)
    while drain.tick(engine, None).more:
        pass


@dataclass(frozen=True, slots=True)
class Burst:
    """How many events were dropped, and how many jobs there are."""

    dropped: int
    live: int | None


def write_torn(lake: Path) -> str:
    """Of a pool whose newest counts cannot be read; the name of their file."""
    write_drained(lake, jobs("acked", ms(f"{BEFORE}T18:00"), 1, queue="q"), "torn")
    # So many that the warning, which names the greatest differences, names this one.
    counted(lake, NOON_BEFORE, of("q", 70, noon=NOON_BEFORE), pool="torn", noon=NOON_BEFORE)
    at_five = of("q", 99, hour=17, noon=NOON_BEFORE)
    counted(lake, ms(f"{BEFORE}T17:00"), at_five, pool="torn", noon=NOON_BEFORE)
    (newest,) = lake.glob("_counts/*/*-h17.parquet")
    newest.write_bytes(b"PAR1 not a file")
    return newest.name


def write_drained_late(pool: str, engine: Engine, lake: Path) -> None:
    """As at full hours: Redis is counted at once, while its events wait until they are some minutes old."""
    queue = engine.queue("ns", "shop")
    engine.run(publish(queue, [b"x"] * 5, now_ms=NOON_BEFORE - HOUR_MS))
    drain_all(pool, engine, lake)
    engine.run(publish(queue, [b"x"] * 3, now_ms=NOON_BEFORE - 1))
    note_counts(pool, engine, lake)


def write_burst(engine: Engine, lake: Path) -> Burst:
    """Of so many events that Redis has dropped some."""
    queue = engine.queue("ns", "burst")
    for _ in range(20):
        engine.run(publish(queue, [b"x"] * 100, now_ms=NOON_BEFORE))
    note_counts("burst", engine, lake)
    engine.run(publish(queue, [b"x"] * 7, now_ms=NOON_BEFORE + 1))
    taken = engine.run(consume(queue, ttr_ms=60_000, count=20, now_ms=NOON_BEFORE + 2)).jobs
    engine.run(ack(queue, [job.job_id for job in taken], now_ms=NOON_BEFORE + 3))
    drain_all("burst", engine, lake)
    return Burst(
        dropped=engine.run(partition_load(queue.partition)).events_dropped,
        live=engine.run(count_live_jobs(queue, now_ms=NOON_BEFORE + 4)).jobs,
    )


@dataclass(frozen=True, slots=True)
class Anchors:
    """Of pool `torn` the counts that cannot be read; `burst`'s jobs."""

    torn: str
    burst: Burst


def write_pools(lake: Path, redis_url: str) -> Anchors:
    """A day and the one before. Of each queue of pool `default` something else is amiss. Its counts are of the day's
    twelve o'clock, those of the other pools of that of the day before."""
    torn = write_torn(lake)
    for pool in ("behind", "caught-up"):
        with empty_engine(redis_url, partitions=2, events_memory=20_000) as engine:
            write_drained_late(pool, engine, lake)
            if pool == "caught-up":
                drain_all(pool, engine, lake)
    with empty_engine(redis_url, partitions=2, events_memory=20_000) as engine:
        burst = write_burst(engine, lake)
    morning, evening = ms(f"{DAY}T09:00"), ms(f"{DAY}T18:00")
    told = [
        # Of each queue the day before ends with 5 jobs by the events.
        *(
            one
            for queue in ("same", "fewer", "none", "batches", "meanwhile", "idle", "unheard")
            for one in jobs("published", ms(f"{BEFORE}T10:00"), 5, queue=queue)
        ),
        *jobs("published", ms(f"{BEFORE}T10:00"), 5, queue="made-up", demo=True),
        *jobs("published", morning, 3, queue="same"),
        *jobs("acked", NOON + 10, 1, queue="same"),  # before the count, in its hour
        *jobs("published", NOON + 30, 4, queue="same"),  # after it
        *jobs("published", evening, 2, queue="same"),
        *jobs("acked", morning, 1, queue="fewer"),
        *jobs("acked", evening, 1, queue="fewer"),
        *jobs("acked", morning, 1, queue="none"),
        *jobs("published", morning, 1, queue="batches"),
        *jobs("published", NOON + 20, 1, queue="meanwhile"),
        *jobs("acked", morning, 1, queue="made-up", demo=True),
        *jobs("published", morning, 1, queue="more"),
        *jobs("published", morning, 3, queue="unheard"),  # all 8 were acked before noon; these events are lost
        *jobs("published", evening, 2, queue="unheard"),
    ]
    write_drained(lake, told)
    counted(lake, ms(f"{DAY}T03:00"), of("same", 999), of("fewer", 999))
    queues = (of("same", 7), of("fewer", 2), of("batches", None), of("more", 3))
    counted(lake, NOON, *queues)
    return Anchors(torn, burst)


@dataclass(frozen=True, slots=True)
class Anchored:
    """Where the reports are, the summary of each day; of pool `torn` the counts that cannot be read; `burst`'s jobs."""

    out: Path
    summaries: dict[str, dict[str, Any]]
    torn: str
    burst: Burst


@pytest.fixture(scope="module")
def anchored(counted_days: CountedDays) -> Anchored:
    """The pools of `write_pools`; there are others beside them."""
    return Anchored(counted_days.out, counted_days.summaries, counted_days.anchors.torn, counted_days.anchors.burst)


def day_of(out: Path, queue: str) -> tuple[int, bool]:
    return backlogs(out, DAY)[queue, None]


def day_before_of(out: Path, pool: str, queue: str) -> tuple[int, bool]:
    return backlogs(out, BEFORE, pool=pool)[queue, None]


def warnings_of(anchored: Anchored, day: str, *kinds: str) -> list[str]:
    """The texts of those kinds."""
    return [one["text"] for one in anchored.summaries[day]["warnings"] if one["kind"] in kinds]


def test_a_queue_whose_events_and_counts_agree_goes_on_as_before(anchored: Anchored) -> None:
    found = {hour: backlog for (queue, hour), backlog in backlogs(anchored.out, DAY).items() if queue == "same"}
    assert found == {9: (8, True), 12: (11, True), 18: (13, True), None: (13, True)}


def test_where_they_do_not_agree_the_newest_count_of_redis_decides(anchored: Anchored) -> None:
    found = {hour: backlog for (queue, hour), backlog in backlogs(anchored.out, DAY).items() if queue == "fewer"}
    assert found == {9: (2, True), 18: (1, True), None: (1, True)}


def test_a_queue_that_redis_does_not_have_had_no_jobs(anchored: Anchored) -> None:
    assert day_of(anchored.out, "none") == (0, True)
    assert ("idle", None) not in backlogs(anchored.out, DAY)


def test_a_queue_that_the_lake_does_not_know_begins_with_what_redis_had(anchored: Anchored) -> None:
    assert day_of(anchored.out, "more") == (3, True)


def test_where_events_of_departures_are_lost_the_day_still_ends_with_what_redis_has(anchored: Anchored) -> None:
    found = {hour: backlog for (queue, hour), backlog in backlogs(anchored.out, DAY).items() if queue == "unheard"}
    assert found == {9: (0, False), 18: (2, False), None: (2, False)}


@pytest.mark.parametrize(("queue", "expected"), [("batches", 6), ("meanwhile", 6), ("made-up", 4)])
def test_what_redis_cannot_tell_follows_the_events(anchored: Anchored, queue: str, expected: int) -> None:
    """Members of batches; an event while queues were counted; events that are made up."""
    assert day_of(anchored.out, queue) == (expected, True)


def test_the_report_says_where_they_do_not_agree_and_only_there(anchored: Anchored) -> None:
    assert not any("default:" in text for text in warnings_of(anchored, BEFORE, "backlog"))
    (text,) = warnings_of(anchored, DAY, "backlog")
    assert "differ in 5 queues" in text
    assert "default:ns/fewer began the day with 5 jobs by the events and with 3 by Redis's own count" in text
    assert "default:ns/idle began the day with 5 jobs by the events and with 0 by Redis's own count" in text
    assert (
        "default:ns/unheard began the day with 5 jobs by the events and with none by Redis's own count: events of 3 "
        "departures are missing"
    ) in text
    for queue in ("same", "batches", "meanwhile", "made-up"):
        assert f"/{queue} " not in text


def test_counts_that_cannot_be_read_are_named_and_those_before_them_are_taken(anchored: Anchored) -> None:
    assert day_before_of(anchored.out, "torn", "q") == (69, True)
    (text,) = warnings_of(anchored, BEFORE, "other")
    assert f"{anchored.torn} was left out" in text
    assert any("torn:ns/q began the day" in text for text in warnings_of(anchored, BEFORE, "backlog"))
    # No event of the pool is missing, so no number of its day is "at least".
    assert anchored.summaries[BEFORE]["corrupt"] == []
    assert not any("torn" in text for text in warnings_of(anchored, BEFORE, "gap", "missing", "surplus"))


def test_counts_are_no_anchor_before_the_events_that_they_rest_on_are_in_the_lake(anchored: Anchored) -> None:
    """As at full hours: Redis is counted at once, while its events wait until they are some minutes old."""
    assert day_before_of(anchored.out, "behind", "shop") == (5, True)
    assert day_before_of(anchored.out, "caught-up", "shop") == (8, True)
    texts = [one["text"] for one in anchored.summaries[BEFORE]["warnings"]]
    assert not any(pool in text for text in texts for pool in ("behind", "caught-up"))


def test_after_a_burst_that_lost_events_the_days_backlog_is_what_redis_has(anchored: Anchored) -> None:
    burst = anchored.burst
    rows = [row for row in read_table(anchored.out, BEFORE, "figures") if row["pool"] == "burst"]

    assert burst.dropped > 1_000
    assert [row["published"] for row in rows if row["queue"] and row["hour"] is None] == [2_007 - burst.dropped]
    assert burst.live == 2_007 - 20
    assert day_before_of(anchored.out, "burst", "burst") == (burst.live, True)
