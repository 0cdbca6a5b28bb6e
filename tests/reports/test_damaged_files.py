"""Files of which single bits were flipped, and files of earlier versions, as Spark reads them."""

from __future__ import annotations

import random
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as t

from queues.lake.files import DayFiles, LakeFile, read_day
from queues.lake.schema import arrow_schema
from queues.reports import day as day_module
from queues.reports import events as events_module
from queues.reports.events import SCHEMA, read_events
from tests.lake.old_lakes import DAY as OLD_DAY
from tests.lake.old_lakes import LAKES
from tests.lake.test_versions import expected

from .conftest import RunDay
from .made import event, ms, read_table, write_lake

DAY = "2026-03-29"
HOURS = range(24)
ROWS = 120
LAST_HOUR = ms(f"{OLD_DAY}T18:00")


def deliveries(hour: int) -> list[dict[str, Any]]:
    dice = random.Random(hour)
    at = ms(f"{DAY}T{hour:02d}:00")
    return [
        event("consumed", at + each, job=f"01J{hour}-{each}", attempt=1, wait_ms=dice.randrange(10**6), worker="w")
        for each in range(ROWS)
    ]


def file_of(lake: Path, hour: int) -> Path:
    return lake / f"date={DAY}" / f"hour={hour:02d}" / "made.parquet"


def waits_of(hour: int) -> tuple[Any, ...]:
    """Number, mean, median and greatest of the hour's waits."""
    waits = sorted(one["wait_ms"] for one in deliveries(hour))
    return len(waits), sum(waits) / len(waits), waits[len(waits) // 2 - 1], waits[-1]


def reported_waits(out: Path) -> dict[int, tuple[Any, ...]]:
    """Hour → the same by the report."""
    rows = [row for row in read_table(out, DAY, "figures") if row["queue"] == "q" and row["hour"] is not None]
    return {row["hour"]: tuple(row[f"wait_{part}"] for part in ("count", "mean", "p50", "max")) for row in rows}


def test_of_24_files_with_a_flipped_bit_each_is_named_or_has_all_its_events_as_they_were(
    run_day: RunDay, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    write_lake(lake, [one for hour in HOURS for one in deliveries(hour)])
    dice = random.Random(17)
    for hour in HOURS:
        content = bytearray(file_of(lake, hour).read_bytes())
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        file_of(lake, hour).write_bytes(content)

    summary = run_day(lake, tmp_path / "out", DAY)

    named = {one["file"]: one["rows"] for one in summary["corrupt"]}
    left = [hour for hour in HOURS if f"file://{file_of(lake, hour)}" not in named]
    assert len(named) > len(HOURS) / 2
    assert set(named.values()) == {ROWS}
    assert len(left) + len(named) == len(HOURS)
    assert summary["events"] == ROWS * len(left)
    assert reported_waits(tmp_path / "out") == {hour: waits_of(hour) for hour in left}
    texts = [one["text"] for one in summary["warnings"]]
    for url in named:
        assert [text for text in texts if text.startswith(f"{url} was left out, and with it {ROWS} events: ")], url


def test_a_sum_that_overflows_names_its_file_and_costs_no_other(run_day: RunDay, tmp_path: Path) -> None:
    """A file of a version without checksums: two of its waits are greater than any."""
    lake = tmp_path / "lake"
    write_lake(lake, deliveries(3))
    write_lake(lake, [one | {"wait_ms": 2**62 + one["wait_ms"]} for one in deliveries(4)])
    file = file_of(lake, 4)
    pq.write_table(pq.ParquetFile(file).read().replace_schema_metadata(None), file)

    summary = run_day(lake, tmp_path / "out", DAY)

    (damaged,) = summary["corrupt"]
    assert (damaged["file"], damaged["rows"], summary["events"]) == (f"file://{file}", ROWS, ROWS)
    assert damaged["reason"].startswith("is damaged: it has an event with wait_ms 46116")


def test_a_file_of_which_spark_reads_fewer_events_than_it_has_is_named(
    run_day: RunDay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "my lake"
    write_lake(lake, [*deliveries(3), *deliveries(4)])

    def one_more(url: str, day: date, **_options: Any) -> DayFiles:
        """As if a row group of the second file could not be found."""
        found = read_day(url, day)
        live = [LakeFile(url=file.url, size=file.size, rows=file.rows + ("hour=04" in file.url)) for file in found.live]
        return DayFiles(live=tuple(live), corrupt=found.corrupt, gaps=found.gaps)

    monkeypatch.setattr(day_module, "read_day", one_more)

    summary = run_day(lake, tmp_path / "out", DAY)

    assert summary["events"] == ROWS
    (damaged,) = summary["corrupt"]
    assert damaged["file"].endswith("hour=04/made.parquet")
    assert (damaged["reason"], damaged["rows"]) == ("is damaged: Spark reads 120 events of it", 121)


def rows_of(spark: SparkSession, lake: Path) -> list[dict[str, Any]]:
    """What Spark reads of the day, times in ms."""
    files = read_day(str(lake), OLD_DAY)
    assert files.corrupt == ()
    events = read_events(spark, lake=f"file://{lake}", files=files.live)
    columns = [name for name in events.columns if name not in ("at", "published", "date", "hour")]
    times = ("unix_millis(at) AS at", "unix_millis(published) AS published")
    table = events.selectExpr(*columns, *times).orderBy("partition", "entry_ms", "entry_seq", "line")
    return [row.asDict() for row in table.collect()]


def test_spark_reads_lakes_of_all_versions_also_together_with_a_column_that_they_lack(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    for lake_of_version in sorted(LAKES.iterdir()):
        assert rows_of(spark, lake_of_version) == expected()
        (file,) = lake_of_version.glob("*/hour=18/*.parquet")
        target = lake / file.parent.relative_to(lake_of_version) / f"{lake_of_version.name}.parquet"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    more = arrow_schema().append(pa.field("task", pa.string()))
    monkeypatch.setattr("queues.lake.schema.arrow_schema", lambda: more)
    monkeypatch.setattr(events_module, "SCHEMA", t.StructType([*SCHEMA, t.StructField("task", t.StringType())]))

    rows = rows_of(spark, lake)

    last_hour = [row | {"task": None} for row in expected() if row["at"] >= LAST_HOUR]
    copies = [row for row in last_hour for _ in LAKES.iterdir()]
    assert rows == copies
