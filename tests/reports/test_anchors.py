"""Backlogs follow Redis's own hourly counts, and a report says where these and the events do not agree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from queues.engine import Engine, ack, consume, count_live_jobs, open_engine, partition_load, publish
from queues.engine.keys import partition_of
from queues.lake.counts import CountsWriter, QueueCount
from queues.lake.names import HOUR_MS, EntryId, drained_name
from queues.lake.storage import Storage
from queues.pump.roles.drain import Drain
from queues.pump.roles.hourly_counts import HourlyCounts

from .conftest import RunDay
from .made import Event, event, ms, write_lake
from .test_history import backlogs, make_current

BEFORE: Final = "2026-03-29"
DAY: Final = "2026-03-30"
NOON: Final = ms(f"{DAY}T12:00")
PARTITIONS: Final = 4


def jobs(kind: str, at: int, number: int, **others: Any) -> list[Event]:
    others |= {"published": at, "attempt": 1, "run_ms": 1, "size": 1}
    return [event(kind, at, job=f"J{each}", **others) for each in range(number)]


def counted(lake: Path, at: int, *queues: QueueCount, pool: str = "default") -> None:
    """Write counts of an hour; all partitions were looked through between two events at noon."""
    writer = CountsWriter(Storage(str(lake)), pool, at, partitions=PARTITIONS)
    for number in range(PARTITIONS):
        writer.add_queues(
            number, (one for one in queues if partition_of(one.namespace, one.queue, PARTITIONS) == number)
        )
        writer.end_partition(number, EntryId(NOON, 0), EntryId(NOON + 50, 0))
    writer.put()


def write_drained(lake: Path, told: list[Event]) -> None:
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
    for partition in range(PARTITIONS):
        mine = [one for one in told if partition_in_lake(one["queue"]) == partition]
        for hour in {one["at"] // HOUR_MS * HOUR_MS for one in mine}:
            name = drained_name("default", partition, EntryId(hour, 0), EntryId(hour + HOUR_MS - 1, 0))
            write_lake(lake, [one for one in mine if one["at"] // HOUR_MS * HOUR_MS == hour], name=str(name))


def partition_in_lake(queue: str) -> int:
    return partition_of("ns", queue, PARTITIONS)


def of(queue: str, number: int | None, *, seq: int = 10**9, hour: int = 12) -> QueueCount:
    return QueueCount("ns", queue, hour, number, EntryId(NOON + 20, seq))


@pytest.fixture(scope="module")
def anchored(run_day: RunDay, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[str, Any]]]:
    """A day and the one before. Of each queue something else is amiss. Its counts are of twelve o'clock."""
    lake, out = tmp_path_factory.mktemp("lake"), tmp_path_factory.mktemp("out")
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
    summaries = {}
    for day in (BEFORE, DAY):
        summaries[day] = run_day(lake, out, day)
        make_current(out, day)
    return out, summaries


def day_of(out: Path, queue: str) -> tuple[int, bool]:
    return backlogs(out, DAY)[queue, None]


Anchored = tuple[Path, dict[str, dict[str, Any]]]


def test_a_queue_whose_events_and_counts_agree_goes_on_as_before(anchored: Anchored) -> None:
    found = {hour: backlog for (queue, hour), backlog in backlogs(anchored[0], DAY).items() if queue == "same"}
    assert found == {9: (8, True), 12: (11, True), 18: (13, True), None: (13, True)}


def test_where_they_do_not_agree_the_newest_count_of_redis_decides(anchored: Anchored) -> None:
    found = {hour: backlog for (queue, hour), backlog in backlogs(anchored[0], DAY).items() if queue == "fewer"}
    assert found == {9: (2, True), 18: (1, True), None: (1, True)}


def test_a_queue_that_redis_does_not_have_had_no_jobs(anchored: Anchored) -> None:
    assert day_of(anchored[0], "none") == (0, True)
    assert ("idle", None) not in backlogs(anchored[0], DAY)


def test_a_queue_that_the_lake_does_not_know_begins_with_what_redis_had(anchored: Anchored) -> None:
    assert day_of(anchored[0], "more") == (3, True)


def test_where_events_of_departures_are_lost_the_day_still_ends_with_what_redis_has(anchored: Anchored) -> None:
    found = {hour: backlog for (queue, hour), backlog in backlogs(anchored[0], DAY).items() if queue == "unheard"}
    assert found == {9: (0, False), 18: (2, False), None: (2, False)}


@pytest.mark.parametrize(("queue", "expected"), [("batches", 6), ("meanwhile", 6), ("made-up", 4)])
def test_what_redis_cannot_tell_follows_the_events(anchored: Anchored, queue: str, expected: int) -> None:
    """Members of batches; an event while queues were counted; events that are made up."""
    assert day_of(anchored[0], queue) == (expected, True)


def test_the_report_says_where_they_do_not_agree_and_only_there(anchored: Anchored) -> None:
    warnings = {
        day: [one for one in summary["warnings"] if one["kind"] == "backlog"] for day, summary in anchored[1].items()
    }
    assert warnings[BEFORE] == []
    (warning,) = warnings[DAY]
    assert "differ in 5 queues" in warning["text"]
    assert "default:ns/fewer began the day with 5 jobs by the events and with 3 by Redis's own count" in warning["text"]
    assert "default:ns/idle began the day with 5 jobs by the events and with 0 by Redis's own count" in warning["text"]
    assert (
        "default:ns/unheard began the day with 5 jobs by the events and with none by Redis's own count: events of 3 "
        "departures are missing"
    ) in warning["text"]
    for queue in ("same", "batches", "meanwhile", "made-up"):
        assert f"/{queue} " not in warning["text"]


def test_counts_that_cannot_be_read_are_named_and_those_before_them_are_taken(run_day: RunDay, tmp_path: Path) -> None:
    lake, out = tmp_path / "lake", tmp_path / "out"
    write_drained(lake, jobs("acked", ms(f"{DAY}T18:00"), 1, queue="q"))
    counted(lake, NOON, of("q", 7))
    counted(lake, ms(f"{DAY}T17:00"), of("q", 99, hour=17))
    (newest,) = lake.glob("_counts/*/*-h17.parquet")
    newest.write_bytes(b"PAR1 not a file")

    summary = run_day(lake, out, DAY)

    assert backlogs(out, DAY)["q", None] == (6, True)
    assert summary["corrupt"] == []
    # No event is missing, so no number of the day is "at least".
    (text,) = [one["text"] for one in summary["warnings"] if one["kind"] == "other"]
    assert f"{newest.name} was left out" in text
    assert {one["kind"] for one in summary["warnings"]} == {"backlog", "other"}


@pytest.fixture
def engine(redis_url: str) -> Iterator[Engine]:
    engine = open_engine(redis_url, partitions=2, events_memory=20_000)
    yield engine
    engine.close()


def note_counts(counts: HourlyCounts, engine: Engine, at: int) -> None:
    while counts.go_on(engine, at, clock_ms=at):
        pass


def drain_all(engine: Engine, lake: Path) -> None:
    drain = Drain("default", url=str(lake), every_s=300, everything=True)
    while drain.tick(engine, None).more:
        pass


def test_counts_are_no_anchor_before_the_events_that_they_rest_on_are_in_the_lake(
    engine: Engine, run_day: RunDay, tmp_path: Path
) -> None:
    """As at full hours: Redis is counted at once, while its events wait until they are some minutes old."""
    queue = engine.queue("ns", "shop")
    lake = tmp_path / "lake"
    counts = HourlyCounts("default", url=str(lake))
    engine.run(publish(queue, [b"x"] * 5, now_ms=NOON - HOUR_MS))
    drain_all(engine, lake)
    engine.run(publish(queue, [b"x"] * 3, now_ms=NOON - 1))
    note_counts(counts, engine, NOON)

    behind = run_day(lake, tmp_path / "behind", DAY)

    assert backlogs(tmp_path / "behind", DAY)["shop", None] == (5, True)
    assert behind["warnings"] == []

    drain_all(engine, lake)
    up_to_date = run_day(lake, tmp_path / "out", DAY)

    assert backlogs(tmp_path / "out", DAY)["shop", None] == (8, True)
    assert up_to_date["warnings"] == []


def test_after_a_burst_that_lost_events_the_days_backlog_is_what_redis_has(
    engine: Engine, run_day: RunDay, tmp_path: Path
) -> None:
    queue = engine.queue("ns", "burst")
    lake = tmp_path / "lake"
    counts = HourlyCounts("default", url=str(lake))
    for _ in range(20):
        engine.run(publish(queue, [b"x"] * 100, now_ms=NOON))
    note_counts(counts, engine, NOON)
    engine.run(publish(queue, [b"x"] * 7, now_ms=NOON + 1))
    taken = engine.run(consume(queue, ttr_ms=60_000, count=20, now_ms=NOON + 2)).jobs
    engine.run(ack(queue, [job.job_id for job in taken], now_ms=NOON + 3))
    drain_all(engine, lake)

    summary = run_day(lake, tmp_path / "out", DAY)

    dropped = engine.run(partition_load(queue.partition)).events_dropped
    assert dropped > 1_000
    assert summary["events_by_kind"]["published"] == 2_007 - dropped
    live = engine.run(count_live_jobs(queue, now_ms=NOON + 4)).jobs
    assert live == 2_007 - 20
    assert backlogs(tmp_path / "out", DAY)["burst", None] == (live, True)
