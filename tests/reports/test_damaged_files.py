"""Files that Spark reads otherwise than they were written without a word of it, and files of earlier versions."""

from __future__ import annotations

import random
import shutil
from datetime import date
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from queues.lake.deletion import delete_day
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

BEFORE = "2026-03-28"
DAY = "2026-03-29"
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


SOUND, OVERFLOWS, SHORT = 3, 4, 5
"""Hours, by what is the matter with their files."""


@pytest.fixture(scope="module")
def unreadable(run_day: RunDay, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """The summary of a lake whose damaged files Spark does not name, and the lake; the day before was deleted."""
    folder = tmp_path_factory.mktemp("unreadable")
    lake = folder / "my lake"
    write_lake(lake, [event("published", ms(BEFORE), job="01J", size=1), *deliveries(SOUND), *deliveries(SHORT)])
    delete_day(str(lake), date.fromisoformat(BEFORE), reason="older than 30 days", files=1, size=1)
    write_lake(lake, [one | {"wait_ms": 2**62 + one["wait_ms"]} for one in deliveries(OVERFLOWS)])
    file = file_of(lake, OVERFLOWS)
    pq.write_table(pq.ParquetFile(file).read().replace_schema_metadata(None), file)

    def one_more(url: str, day: date, **_options: Any) -> DayFiles:
        """As if a row group of a file could not be found."""
        found = read_day(url, day)
        short = f"hour={SHORT:02d}"
        live = [LakeFile(url=file.url, size=file.size, rows=file.rows + (short in file.url)) for file in found.live]
        return DayFiles(live=tuple(live), corrupt=found.corrupt, gaps=found.gaps)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(day_module, "read_day", one_more)
        return run_day(lake, folder / "out", DAY), lake


def damaged_of(unreadable: tuple[dict[str, Any], Path], hour: int) -> dict[str, Any]:
    summary, lake = unreadable
    found: list[dict[str, Any]] = [one for one in summary["corrupt"] if one["file"] == f"file://{file_of(lake, hour)}"]
    (damaged,) = found
    return damaged


def test_files_that_spark_does_not_name_cost_no_other(unreadable: tuple[dict[str, Any], Path]) -> None:
    summary, _ = unreadable
    assert (summary["events"], summary["files"], len(summary["corrupt"])) == (ROWS, 1, 2)


def test_a_sum_that_overflows_names_its_file(unreadable: tuple[dict[str, Any], Path]) -> None:
    """A file of a version without checksums: two of its waits are greater than any."""
    damaged = damaged_of(unreadable, OVERFLOWS)
    assert damaged["rows"] == ROWS
    assert damaged["reason"].startswith("is damaged: it has an event with wait_ms 46116")


def test_a_file_of_which_spark_reads_fewer_events_than_it_has_is_named(
    unreadable: tuple[dict[str, Any], Path],
) -> None:
    damaged = damaged_of(unreadable, SHORT)
    assert (damaged["reason"], damaged["rows"]) == ("is damaged: Spark reads 120 events of it", 121)


def test_the_day_after_a_deleted_one_begins_with_what_is_unknown(unreadable: tuple[dict[str, Any], Path]) -> None:
    out = unreadable[1].parent / "out"
    assert {(row["backlog"], row["backlog_base_known"]) for row in read_table(out, DAY, "figures")} == {(0, False)}


def rows_of(spark: SparkSession, *lakes: Path) -> list[list[dict[str, Any]]]:
    """What Spark reads of the day in each lake, times in ms."""
    tables = []
    for number, lake in enumerate(lakes):
        files = read_day(str(lake), OLD_DAY)
        assert files.corrupt == ()
        events = read_events(spark, lake=f"file://{lake}", files=files.live)
        columns = [name for name in events.columns if name not in ("at", "published", "date", "hour")]
        times = ("unix_millis(at) AS at", "unix_millis(published) AS published")
        tables.append(events.selectExpr(f"{number} AS lake", *columns, *times))
    rows: list[list[dict[str, Any]]] = [[] for _ in lakes]
    every = reduce(DataFrame.unionAll, tables).orderBy("partition", "entry_ms", "entry_seq", "line")
    for row in every.collect():
        told = row.asDict()
        rows[told.pop("lake")].append(told)
    return rows


def test_spark_reads_lakes_of_all_versions_also_together_with_a_column_that_they_lack(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, versions = tmp_path / "lake", sorted(LAKES.iterdir())
    for version, rows in zip(versions, rows_of(spark, *versions), strict=True):
        assert rows == expected(), version.name
        (file,) = version.glob("*/hour=18/*.parquet")
        target = lake / file.parent.relative_to(version) / f"{version.name}.parquet"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    more = arrow_schema().append(pa.field("task", pa.string()))
    monkeypatch.setattr("queues.lake.schema.arrow_schema", lambda: more)
    monkeypatch.setattr(events_module, "SCHEMA", t.StructType([*SCHEMA, t.StructField("task", t.StringType())]))

    (together,) = rows_of(spark, lake)

    last_hour = [row | {"task": None} for row in expected() if row["at"] >= LAST_HOUR]
    assert together == [row for row in last_hour for _ in versions]
