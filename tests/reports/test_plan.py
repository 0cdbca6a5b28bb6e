"""What Spark reads of the lake: a day's files, and of them the columns that are used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from queues.lake.files import read_day
from queues.lake.schema import COLUMNS
from queues.reports.events import SCHEMA, read_events
from queues.reports.tables.cells import counts_of, values_of
from queues.reports.tables.single_events import limits_of, lost_leases_of, notable_of

from .made import event, ms, write_lake

DAY = "2026-03-29"


LEGIBLE = {"spark.sql.maxMetadataStringLength": "10000", "spark.sql.debug.maxToStringFields": "1000"}
"""Plans are read here. Elsewhere they are not, and Spark writes one of each query."""


@pytest.fixture(scope="module", autouse=True)
def _legible_plans(spark: SparkSession) -> Iterator[None]:
    for name, value in LEGIBLE.items():
        spark.conf.set(name, value)
    yield
    for name in LEGIBLE:
        spark.conf.unset(name)


@pytest.fixture(scope="module")
def events(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    lake = tmp_path_factory.mktemp("lake")
    days = ("2026-03-28", DAY, "2026-03-30")
    write_lake(
        lake,
        [event("consumed", ms(f"{day}T{hour:02d}:30"), wait_ms=5, attempt=1) for day in days for hour in (0, 7, 23)],
    )
    return read_events(spark, lake=str(lake), files=read_day(str(lake), date.fromisoformat(DAY)).live)


def plan_of(rows: DataFrame) -> str:
    return str(rows._jdf.queryExecution().executedPlan().toString())


def columns_read(rows: DataFrame) -> set[str]:
    found = re.findall(r"ReadSchema: struct<(.*?)>(?:\n|$)", plan_of(rows))
    assert found
    return {column.split(":")[0] for schema in found for column in schema.split(",")}


def test_only_the_days_files_are_read(events: DataFrame) -> None:
    assert len(events.inputFiles()) == 3
    assert all(f"date={DAY}/" in name for name in events.inputFiles())
    assert [row["hour"] for row in events.select("hour").distinct().orderBy("hour").collect()] == [0, 7, 23]


def test_an_hour_is_found_by_its_directory(events: DataFrame) -> None:
    plan = plan_of(events.where(f.col("hour") == 7))

    assert re.search(r"PartitionFilters: \[isnotnull\(hour#\d+\), \(hour#\d+ = 7\)\]", plan)
    assert events.where(f.col("hour") == 7).count() == 1


def test_counting_reads_neither_job_ids_nor_workers(events: DataFrame) -> None:
    every = {column.name for column in COLUMNS}

    unused = {"job", "worker", "partition", "entry_ms", "entry_seq", "line"}
    times = {"wait_ms", "run_ms", "published"}
    assert columns_read(counts_of(events)) == every - unused - times
    assert columns_read(values_of(events)) == {"pool", "namespace", "queue", "kind", "at"} | times


def test_lost_leases_are_asked_of_the_files(events: DataFrame) -> None:
    lost = lost_leases_of(events)

    assert columns_read(lost) == {"pool", "namespace", "queue", "kind", "job", "attempt"}
    assert "PushedFilters: [IsNotNull(kind), EqualTo(kind,lease_lost)]" in plan_of(lost)


def test_what_has_job_ids_leaves_the_rest(events: DataFrame) -> None:
    unused = {"published", "size", "partition", "entry_ms", "entry_seq", "line", "demo"}

    notable = notable_of(events, limits_of(values_of(events)).localCheckpoint())

    assert columns_read(notable).isdisjoint(unused)
    assert "In(kind, [acked,consumed,dead,failed,lease_lost])" in plan_of(notable)


def test_the_schema_is_the_lakes(events: DataFrame) -> None:
    assert [field.name for field in SCHEMA] == [*(column.name for column in COLUMNS), "date", "hour"]
    assert events.columns == SCHEMA.names


def test_no_table_is_computed_by_python() -> None:
    tables = Path(__file__).parents[2] / "queues" / "reports"
    words = re.compile(r"\b(udf|pandas_udf|applyInPandas|mapInPandas|mapInArrow|toPandas|\.rdd\b|createDataFrame)\(")

    assert [path.name for path in tables.rglob("*.py") if words.search(path.read_text())] == []
