"""Spark reads the Iceberg table: by Iceberg's runtime where there is one for this Spark, and its data files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from queues.lake.iceberg import OWN_CATALOG, IcebergTarget, export_day, open_table
from tests.support.reports import at, event, write_events

DAY: Final = date(2026, 11, 20)
NEXT: Final = DAY + timedelta(days=1)

RUNTIMES: Final = {
    "4.0": "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.1",
    "4.1": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
}
"""Of Sparks for which Iceberg has one. An older one's does not load in a newer Spark."""

PYTHON: Final = os.environ.get("TASKQ_ICEBERG_SPARK_PYTHON", sys.executable)
"""Whose pyspark reads: another than ours may be named, to test with a Spark that has a runtime."""


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> IcebergTarget:
    """Two days, the first of which was exported twice."""
    place = tmp_path_factory.mktemp("iceberg")
    made = IcebergTarget(catalog=OWN_CATALOG, warehouse=str(place / "iceberg"), table="taskq.events")
    for day in (DAY, NEXT):
        moment = at(day, 3)
        rows = [event("consumed", moment, job=f"{day}-{n}", published=moment, attempt=1, wait_ms=n) for n in range(5)]
        write_events(place / "lake", rows)
        export_day(str(place / "lake"), day, made)
    late = event("consumed", at(DAY, 5), job=f"{DAY}-late", published=at(DAY), attempt=1, wait_ms=100)
    write_events(place / "lake", [late])
    export_day(str(place / "lake"), DAY, made)
    return made


def test_spark_with_icebergs_runtime_reads_the_table_and_its_past(target: IcebergTarget) -> None:
    runtime = _runtime()
    table = open_table(target)
    words = [PYTHON, str(Path(__file__).with_name("read_iceberg.py")), table.metadata_location]
    words += [str(table.metadata.snapshots[1].snapshot_id), runtime]

    done = subprocess.run(words, capture_output=True, text=True, timeout=400)
    if done.returncode and "unresolved dependency" in done.stderr + done.stdout:
        pytest.skip(f"Spark could not download {runtime}")
    assert done.returncode == 0, done.stderr[-3_000:]

    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert (found["rows"], found["of_day"], found["then"]) == (11, 6, 10)
    assert found["jobs"] == sorted(open_table(target).scan().to_arrow()["job"].to_pylist())
    assert found["first"] == {"at": int(at(DAY, 3).timestamp() * 1_000), "waits": 110}
    assert (found["types"]["at"], found["types"]["wait_ms"], found["types"]["partition"]) == (
        "timestamp",
        "bigint",
        "int",
    )


def test_our_spark_reads_the_data_files_that_the_newest_snapshot_names(
    target: IcebergTarget, spark: SparkSession
) -> None:
    files = [task.file.file_path for task in open_table(target).scan().plan_files()]

    events = spark.read.parquet(*files)

    assert events.count() == 11
    assert events.where(f"job LIKE '{DAY}%'").selectExpr("sum(wait_ms)").first() == (110,)
    assert dict(events.dtypes)["at"] == "timestamp"


def _runtime() -> str:
    """What Spark downloads. Skips the test if Iceberg has none for this Spark."""
    asked = [PYTHON, "-c", "import pyspark; print(pyspark.__version__)"]
    version = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    if (runtime := RUNTIMES.get(".".join(version.split(".")[:2]))) is None:
        pytest.skip(f"Iceberg has no runtime for Spark {version}; it has for {', '.join(RUNTIMES)}")
    return runtime
