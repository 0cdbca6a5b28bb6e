"""What is wrong with the lake is named, and the rest is reported."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

from queues.lake.compact import compact_day
from queues.lake.error_patterns import LEASE_LOST
from queues.lake.files import Gap
from queues.lake.storage import LakeError, Storage
from queues.lake.writer import Writer
from queues.reports import day as day_module
from queues.reports.day import DayReport, Done
from queues.reports.history import Output

from .conftest import RunDay
from .made import event, ms, read_table, write_lake

DAY = "2026-03-29"


def published(hour: int, number: int = 1) -> list[dict[str, object]]:
    at = ms(f"{DAY}T{hour:02d}:00")
    return [event("published", at + each, job=f"01J{hour}-{each}", published=at, size=10) for each in range(number)]


def file_of(lake: Path, hour: int) -> Path:
    return lake / f"date={DAY}" / f"hour={hour:02d}" / "made.parquet"


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


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of pool `default`, three files of four damaged; of pool `lossy`, demo data that lacks events."""
    lake = tmp_path_factory.mktemp("lake")
    write_lake(lake, [one for hour in (2, 3, 4, 5) for one in published(hour, 200)])
    file_of(lake, 2).write_bytes(b"PAR1 this is no file of ours")  # without a footer
    for hour in (3, 5):
        damage_a_page(file_of(lake, hour))
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
    return lake


@pytest.fixture(scope="module")
def report(run_day: RunDay, lake: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """Its summary, and where it is."""
    out = tmp_path_factory.mktemp("out")
    return run_day(lake, out, DAY), out


def test_damaged_files_are_all_named_and_the_rest_is_reported(report: tuple[dict[str, Any], Path], lake: Path) -> None:
    summary, out = report

    assert (summary["events"], summary["files"]) == (200 + 4, 1 + 1)
    assert sorted((one["file"], one["rows"]) for one in summary["corrupt"]) == [
        (f"file://{file_of(lake, hour)}", rows) for hour, rows in ((2, None), (3, 200), (5, 200))
    ]
    (text,) = [one["text"] for one in summary["warnings"] if "hour=03" in one["text"]]
    assert text.startswith(f"file://{file_of(lake, 3)} was left out, and with it 200 events: is damaged: ")
    assert [warning["kind"] for warning in summary["warnings"] if warning["kind"] != "gap"] == ["corrupt"] * 3
    rows = [row for row in read_table(out, DAY, "figures") if row["pool"] == "default"]
    assert {row["hour"]: (row["published"], row["bytes"]) for row in rows} == {4: (200, 2000), None: (200, 2000)}


def test_a_gap_and_demo_data_are_told_of(report: tuple[dict[str, Any], Path]) -> None:
    summary, out = report

    assert summary["demo"] is True
    assert [(one["pool"], one["partition"], one["dropped"]) for one in summary["gaps"]] == [("lossy", 3, 1_234)]
    (warning,) = [one for one in summary["warnings"] if one["kind"] == "gap"]
    words = "up to 1,234 events of pool lossy, partition 3, were dropped between 2026-03-28 23:10:00"
    assert words in warning["text"]
    figures = read_table(out, DAY, "figures")
    assert {(row["pool"], row["backlog_base_known"]) for row in figures} == {("lossy", False), ("default", True)}


def test_a_lease_that_ran_out_without_a_word_has_the_pattern_of_the_dead_letter_page(
    report: tuple[dict[str, Any], Path],
) -> None:
    rows = read_table(report[1], DAY, "errors")

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

    def write_tables(report: DayReport) -> Done:
        return Done(events=sum(file.rows for file in report._live), demo=False, by_kind={}, last_at_ms=None)

    monkeypatch.setattr(DayReport, "_reduce", reduce)
    monkeypatch.setattr(DayReport, "_write_tables", write_tables)
    monkeypatch.setattr(day_module, "java_times", lambda _spark: {"up": 1.0})
    spark: Any = SimpleNamespace(version="4")
    output = Output(storage=Storage(str(out)), run_id="one")
    report = DayReport(spark, lake=str(lake), output=output, day=date.fromisoformat(DAY), today=today)
    return report.run(master="local")
