"""What is wrong with the lake is named, also by Redis's own count of events, and the rest is reported."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from queues.engine import Engine, ack, consume, publish
from queues.lake.compact import compact_day
from queues.lake.deletion import delete_day
from queues.lake.error_patterns import LEASE_LOST
from queues.lake.files import Gap, read_day
from queues.lake.names import EntryId, drained_name
from queues.lake.storage import LakeError, Storage
from queues.lake.writer import Writer
from queues.pump.roles.appended_days import AFTER_MIDNIGHT_MS, AppendedDays
from queues.pump.roles.drain import Drain
from queues.reports import day as day_module
from queues.reports.day import DayReport
from queues.reports.day_tables import OpeningBacklog, Totals, WrittenTables
from queues.reports.events import read_events
from queues.reports.history import Output, backlog_before

from . import expected
from .conftest import RunDay
from .made import empty_engine, event, ms, read_table, write_lake

DAY: Final = "2026-03-29"
NEXT: Final = "2026-03-30"
POOLS: Final = ("whole", "lost", "twice", "damaged")


def published(hour: int, number: int = 1) -> list[dict[str, object]]:
    at = ms(f"{DAY}T{hour:02d}:00")
    return [event("published", at + each, job=f"01J{hour}-{each}", published=at, size=10) for each in range(number)]


def drained(pool: str) -> str:
    """The name of a file that says of which pool its events are."""
    return str(drained_name(pool, 0, EntryId(1, 0), EntryId(2, 0)))


def file_of(lake: Path, hour: int) -> Path:
    return lake / f"date={DAY}" / f"hour={hour:02d}" / drained("default")


def damage_a_page(path: Path) -> None:
    """The footer stays as it is; one byte in the middle of a page does not."""
    column = next(
        column
        for column in (pq.read_metadata(path).row_group(0).column(number) for number in range(18))
        if column.path_in_schema == "size"
    )
    content = bytearray(path.read_bytes())
    content[column.data_page_offset + column.total_compressed_size - 3] ^= 0xFF
    path.write_bytes(content)


def test_a_lake_without_any_day_is_not_the_one_that_was_meant(run_day: RunDay, tmp_path: Path) -> None:
    with pytest.raises(LakeError, match=f"{tmp_path}/no-lake: this lake has no events of any day"):
        run_day(tmp_path / "no-lake", tmp_path / "out", DAY)

    assert list((tmp_path / "out").glob("**/summary.json")) == []


FLIPS: Final = 400
FLIPPED_ROWS: Final = 60
FLIPPED_HOUR: Final = 6


COMPARED: Final = (
    "pool",
    "namespace",
    "queue",
    "kind",
    "job",
    "attempt",
    "wait_ms",
    "run_ms",
    "size",
    "worker",
    "error",
)


def flipped_events() -> list[dict[str, Any]]:
    """Of each file of pool `flipped`, with a value in each column that a report reads."""
    dice = random.Random(FLIPPED_HOUR)
    at = ms(f"{DAY}T{FLIPPED_HOUR:02d}:00")
    jobs = [
        {"job": f"01J{each}", "published": at + dice.randrange(10**6), "attempt": 1 + dice.randrange(3), "size": 10}
        for each in range(FLIPPED_ROWS // 2)
    ]
    more = {"pool": "flipped", "worker": "w"}
    taken = [
        event("consumed", at + dice.randrange(10**6), wait_ms=dice.randrange(10**6), **more, **job) for job in jobs
    ]
    done = [event("acked", at + 2 * 10**6, run_ms=dice.randrange(10**6), **more, **job) for job in jobs]
    return [*taken, *done]


def flipped_file(lake: Path, number: int) -> Path:
    name = drained_name("flipped", 0, EntryId(1_000 * number, 0), EntryId(1_000 * number + 999, 0))
    return lake / f"date={DAY}" / f"hour={FLIPPED_HOUR:02d}" / str(name)


def work(engine: Engine, now_ms: int, calls: int) -> None:
    queue = engine.queue("shop", "orders")
    for _ in range(calls):
        engine.run(publish(queue, [b"x"] * 3, now_ms=now_ms))
        taken = engine.run(consume(queue, ttr_ms=60_000, count=3, now_ms=now_ms)).jobs
        engine.run(ack(queue, [job.job_id for job in taken], now_ms=now_ms))


def fill(engine: Engine, lake: Path, pool: str) -> None:
    """Two hours of the day, of 90 and 9 events, and one event of the next one; drained, and counted by Redis."""
    engine.client.flushdb()
    work(engine, ms(f"{DAY}T09:00"), 10)
    work(engine, ms(f"{DAY}T23:59"), 1)
    engine.run(publish(engine.queue("shop", "orders"), [b"x"], now_ms=ms(f"{NEXT}T00:00")))
    drain = Drain(pool, url=str(lake), every_s=300, everything=True)
    while drain.tick(engine, None).more:
        pass
    now = ms(f"{NEXT}T00:00") + AFTER_MIDNIGHT_MS
    assert AppendedDays(pool, url=str(lake)).note(engine, now, clock_ms=now) == 1


def drained_file(lake: Path, pool: str) -> Path:
    (path,) = (lake / f"date={DAY}" / "hour=09").glob(f"{pool}-*.parquet")
    return path


def balance(pool: str, **numbers: Any) -> dict[str, Any]:
    known = {"appended": 99, "in_lake": 99, "damaged": 0, "dropped": 0, "dropped_around": 0, "difference": 0}
    return {"pool": pool, **known, **numbers}


def write_damaged(lake: Path) -> None:
    """Of pool `default`: three files of four are."""
    write_lake(lake, [one for hour in (2, 3, 4, 5) for one in published(hour, 200)], name=drained("default"))
    file_of(lake, 2).write_bytes(b"PAR1 this is no file of ours")  # without a footer
    for hour in (3, 5):
        damage_a_page(file_of(lake, hour))


def write_lossy(lake: Path) -> None:
    """Of pool `lossy`: demo data that lacks events."""
    at, silent = ms(f"{DAY}T03:00"), {"job": "01J3", "attempt": 2}
    lost = event("lease_lost", at, **silent)
    dead = [
        event("dead", at, error="lease lost", **silent),
        event("dead", at, error="lease lost", job="01J4", attempt=1),
    ]
    lossy = [one | {"pool": "lossy", "demo": True} for one in (*published(3), lost, *dead)]
    write_lake(lake, lossy, name="lossy.parquet")
    until = ms(f"{DAY}T00:10")
    gap = Gap(pool="lossy", partition=3, dropped=1_234, from_ms=until - 3_600_000, until_ms=until)
    Writer(str(lake), "lossy").write_gap(gap)


def write_flipped(lake: Path) -> None:
    """Of pool `flipped`: the same file FLIPS times, with another bit flipped each time."""
    first = flipped_file(lake, 0)
    write_lake(lake, flipped_events(), name=first.name)
    sound = first.read_bytes()
    for number, place in enumerate(random.Random(17).sample(range(8 * len(sound)), FLIPS)):
        content = bytearray(sound)
        content[place // 8] ^= 1 << place % 8
        flipped_file(lake, number).write_bytes(content)


def write_counted(lake: Path, redis_url: str) -> None:
    """Of POOLS: events that Redis has counted."""
    with empty_engine(redis_url, partitions=1) as engine:
        for pool in POOLS:
            fill(engine, lake, pool)
    drained_file(lake, "lost").unlink()
    shutil.copy(drained_file(lake, "twice"), drained_file(lake, "twice").with_name("copy.parquet"))
    damage_a_page(drained_file(lake, "damaged"))


@dataclass(frozen=True, slots=True)
class Report:
    """Of DAY."""

    lake: Path
    out: Path
    summary: dict[str, Any]

    @property
    def flipped(self) -> dict[int, int | None]:
        """Number of a file of pool `flipped` that is named → events that it had."""
        files = {f"file://{flipped_file(self.lake, number)}": number for number in range(FLIPS)}
        return {files[one["file"]]: one["rows"] for one in self.summary["corrupt"] if one["file"] in files}

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """Kind and text of each."""
        return [(one["kind"], one["text"]) for one in self.summary["warnings"]]


@pytest.fixture(scope="module")
def report(run_day: RunDay, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Of a lake in which something else is wrong with each pool."""
    folder = tmp_path_factory.mktemp("bad-input")
    lake, out = folder / "lake", folder / "out"
    write_damaged(lake)
    write_lossy(lake)
    write_flipped(lake)
    write_counted(lake, redis_url)
    return Report(lake, out, run_day(lake, out, DAY))


def test_damaged_files_are_all_named_and_the_rest_is_reported(report: Report) -> None:
    summary, lake, left = report.summary, report.lake, FLIPS - len(report.flipped)

    assert summary["events"] == 200 + 4 + left * FLIPPED_ROWS + 99 + 9 + 189 + 9
    assert summary["files"] == 1 + 1 + left + 2 + 1 + 3 + 1
    flipped = [(f"file://{flipped_file(lake, number)}", rows) for number, rows in report.flipped.items()]
    others = [(f"file://{file_of(lake, hour)}", rows) for hour, rows in ((2, None), (3, 200), (5, 200))]
    counted = (f"file://{drained_file(lake, 'damaged')}", 90)
    assert sorted((one["file"], one["rows"]) for one in summary["corrupt"]) == sorted([*flipped, *others, counted])
    (text,) = [text for _, text in report.warnings if f"{file_of(lake, 3)}" in text]
    assert text.startswith(f"file://{file_of(lake, 3)} was left out, and with it 200 events: is damaged: ")
    kinds = Counter(kind for kind, _ in report.warnings)
    assert kinds == {"corrupt": len(summary["corrupt"]), "gap": 1, "missing": 1, "surplus": 1}
    rows = [row for row in read_table(report.out, DAY, "figures") if row["pool"] == "default"]
    assert {row["hour"]: (row["published"], row["bytes"]) for row in rows} == {4: (200, 2000), None: (200, 2000)}


def test_of_400_flipped_bits_each_file_is_named_or_has_all_its_events_as_they_were(report: Report) -> None:
    """A flip that leaves all values as they were may be read, such as one in a page's header where it says what no
    reader needs. Then the figures are those of files that are not damaged, as plain Python counts them."""
    named = report.flipped
    left = FLIPS - len(named)

    assert left < FLIPS // 4
    assert set(named.values()) == {FLIPPED_ROWS}
    beginnings = {text.partition("events: ")[0] for _, text in report.warnings}
    for number in named:
        file = flipped_file(report.lake, number)
        assert f"file://{file} was left out, and with it {FLIPPED_ROWS} " in beginnings, number
    rows = [row for row in read_table(report.out, DAY, "figures") if row["pool"] == "flipped"]
    found = {(row["pool"], row["namespace"], row["queue"], row["hour"]): row for row in rows}
    told = expected.figures(flipped_events() * left, [])
    assert found.keys() == told.keys()
    for key, figures in told.items():
        assert {name: found[key][name] for name in figures} == figures, key
    rows = [row for row in read_table(report.out, DAY, "histograms") if row["pool"] == "flipped"]
    histograms = {tuple(row[name] for name in (*expected.SCOPE, "metric", "bucket")): row["jobs"] for row in rows}
    assert histograms == expected.histograms(flipped_events() * left)


@pytest.mark.thorough
def test_spark_reads_no_file_with_a_flipped_bit_otherwise_than_it_was_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Each file alone: in a report, one that Spark cannot read has all others looked through. Pages of other columns
    are not read, so flips in them change nothing."""
    write_flipped(tmp_path)
    files = read_day(str(tmp_path), date.fromisoformat(DAY))
    unnoticed, harmless = [], 0
    wanted = sorted([str(one[name]) for name in COMPARED] for one in flipped_events())

    for file in files.live:
        events = read_events(spark, lake=f"file://{tmp_path}", files=[file])
        try:
            rows = events.select(*COMPARED).collect()
        except Exception:  # of Spark or of Java, by what is damaged
            continue
        if sorted([str(value) for value in row] for row in rows) == wanted:
            harmless += 1
        else:
            unnoticed.append(file.url)

    assert unnoticed == []
    assert len(files.live) + len(files.corrupt) == FLIPS
    assert FLIPS // 8 < harmless < FLIPS // 2  # and Spark was alive to the last


def test_what_is_lost_twice_there_or_damaged_is_told_by_pool(report: Report) -> None:
    """Beside what Redis has counted."""
    assert [one for one in report.summary["reconciliation"] if one["pool"] in POOLS] == [
        balance("damaged", in_lake=9, damaged=90),
        balance("lost", in_lake=9, difference=90),
        balance("twice", in_lake=189, difference=-90),
        balance("whole"),
    ]
    assert [one for one in report.warnings if one[0] in ("missing", "surplus")] == [
        (
            "missing",
            "pool lost: 90 events are missing and nothing says why: Redis appended 99, the lake has 9",
        ),
        ("surplus", "pool twice: there are 90 events more than Redis counted: Redis appended 99, the lake has 189"),
    ]


def test_a_deleted_day_is_not_reported_and_what_was_left_of_it_is_unknown(
    spark: SparkSession, run_day: RunDay, tmp_path: Path
) -> None:
    lake, output = tmp_path / "lake", Output(storage=Storage(str(tmp_path / "out")), run_id="one")
    write_lake(lake, [event("published", ms(day), job="01J", size=1) for day in (DAY, NEXT)])

    def is_known(day: str) -> bool:
        """What a day's queues begin with."""
        return backlog_before(spark, lake=str(lake), output=output, day=date.fromisoformat(day)).known

    assert is_known(DAY), "it is the lake's first one"
    delete_day(str(lake), date.fromisoformat(DAY), reason="older than 30 days", files=1, size=1)

    with pytest.raises(LakeError, match=f"the lake no longer has {DAY}: it was deleted on .* \\(older than 30 days\\)"):
        run_day(lake, tmp_path / "out", DAY)
    assert not list((tmp_path / "out").glob("**/summary.json"))
    assert not is_known(NEXT), "it is the first one by now, but there was one before it"


def test_a_gap_and_demo_data_are_told_of(report: Report) -> None:
    summary = report.summary

    assert summary["demo"] is True
    assert [(one["pool"], one["partition"], one["dropped"]) for one in summary["gaps"]] == [("lossy", 3, 1_234)]
    (warning,) = [one for one in summary["warnings"] if one["kind"] == "gap"]
    words = "up to 1,234 events of pool lossy, partition 3, were dropped between 2026-03-28 23:10:00"
    assert words in warning["text"]
    rows = [row for row in read_table(report.out, DAY, "figures") if row["pool"] != "flipped"]
    known = {row["pool"]: row["backlog_base_known"] for row in rows}
    assert known == dict.fromkeys(("default", *POOLS), True) | {"lossy": False}


def test_a_lease_that_ran_out_without_a_word_has_the_pattern_of_the_dead_letter_page(
    report: Report,
) -> None:
    rows = read_table(report.out, DAY, "errors")

    assert [(row["pattern"], row["dead"]) for row in rows] == [(LEASE_LOST, 1), ("lease lost", 1)]


def test_what_compaction_takes_while_it_is_read_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, out = tmp_path / "lake", tmp_path / "out"
    write_lake(lake, published(3), name="a.parquet")
    write_lake(lake, published(3), name="b.parquet")
    read: list[int] = []

    def reduce(report: DayReport, _run_id: str) -> None:
        live = report._live
        read.append(len(live))
        if len(read) == 1:
            compact_day(str(lake), date.fromisoformat(DAY))
            path = live[0].url.replace("///", "/")
            raise RuntimeError(f"[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file {path}.")

    summary = without_spark(monkeypatch, lake, out, reduce)

    assert read == [2, 1]
    assert (summary["events"], summary["files"], summary["lake_rows"]) == (2, 1, 2)
    assert (summary["corrupt"], summary["warnings"]) == ([], [])


def test_a_day_that_ends_while_it_is_computed_is_not_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = tmp_path / "lake"
    write_lake(lake, published(3))

    summary = without_spark(monkeypatch, lake, tmp_path / "out", lambda *_: None, today=date.fromisoformat(DAY))

    assert (summary["events"], summary["complete"]) == (1, False)


Reduce = Callable[[DayReport, str], None]


def without_spark(
    monkeypatch: pytest.MonkeyPatch, lake: Path, out: Path, reduce: Reduce, *, today: date | None = None
) -> dict[str, Any]:
    """The summary of a report of which nothing is computed."""

    def write_tables(report: DayReport) -> WrittenTables:
        totals = Totals(events=sum(file.rows for file in report._live), demo=False, by_kind={}, last_at_ms=None)
        return WrittenTables(totals, OpeningBacklog(None, is_known=True, differences=""), "")

    monkeypatch.setattr(DayReport, "_reduce", reduce)
    monkeypatch.setattr(DayReport, "_write_tables", write_tables)
    monkeypatch.setattr(day_module, "java_times", lambda _spark: {"up": 1.0})
    spark: Any = SimpleNamespace(version="4")
    output = Output(storage=Storage(str(out)), run_id="one")
    report = DayReport(spark, lake=str(lake), output=output, day=date.fromisoformat(DAY), today=today)
    return report.run(master="local")
