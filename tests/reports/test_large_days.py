"""Large days, whose percentiles tell which jobs are the slowest before these are looked for."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from queues.reports import day_tables, reduction, session
from queues.reports.session import once
from queues.reports.tables.single_events import notable_of

from . import expected
from .conftest import RunDay
from .made import Event, event, ms, pointers, write_lake

DAY = "2026-03-29"
HOURS = (3, 4, 5)
JOBS = 200
CODE = "spark.sql.codegen.wholeStage"


def _events(hour: int) -> list[Event]:
    begin = ms(f"{DAY}T{hour:02d}:00")
    jobs = [{"job": f"01J{hour}{number:03d}", "attempt": 1, "worker": f"w-{number}"} for number in range(JOBS)]
    taken = [event("consumed", begin + number, wait_ms=number * 7 % 113, **job) for number, job in enumerate(jobs)]
    return [*taken, *(event("acked", one["at"] + 500, run_ms=500, job=one["job"], attempt=1) for one in taken)]


def _damage(file: Path, column: str) -> None:
    """Change a byte of the column's last page."""
    footer = pq.read_metadata(file)
    group = footer.row_group(0)
    (chunk,) = (
        group.column(number) for number in range(footer.num_columns) if group.column(number).path_in_schema == column
    )
    begin = chunk.dictionary_page_offset or chunk.data_page_offset
    content = bytearray(file.read_bytes())
    content[begin + chunk.total_compressed_size - 5] ^= 0xFF
    file.write_bytes(content)


def test_damage_that_is_met_last_costs_its_file_only_and_code_is_made_for_the_events(
    spark: SparkSession, run_day: RunDay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers are read with the slowest jobs, when all else has been computed."""
    lake, out = tmp_path / "lake", tmp_path / "out"
    write_lake(lake, [one for hour in HOURS for one in _events(hour)])
    (damaged,) = (lake / f"date={DAY}" / "hour=04").glob("*.parquet")
    _damage(damaged, "worker")
    for module in (day_tables, reduction, session):
        monkeypatch.setattr(module, "FEW_ROWS", -1)
    monkeypatch.setattr(session, "INTERPRETED_ROWS", JOBS)
    makes_code: list[str | None] = []

    def note(*arguments: Any, **options: Any) -> DataFrame:
        makes_code.append(spark.conf.get(CODE))
        return notable_of(*arguments, **options)

    monkeypatch.setattr(reduction, "notable_of", note)

    before = spark.conf.get(CODE)
    spark.conf.set(CODE, "true")  # as in a session of reports
    try:
        summary = run_day(lake, out, DAY)
    finally:
        spark.conf.set(CODE, str(before))

    assert [damaged.name in one["file"] for one in summary["corrupt"]] == [True]
    assert makes_code == ["true", "true"], "one turn with the damaged file, one without"
    expected.check_report(out, DAY, today=[one for hour in (3, 5) for one in _events(hour)], before=[])
    assert pointers(out, DAY) == {3: "one-1", 5: "one-1"}
    assert [path.name for path in (out / "cells").glob("date=*/run=*")] == ["run=one-1"]


def test_what_several_ask_for_is_done_once_and_fails_for_all() -> None:
    calls: list[int] = []
    errors: list[Exception] = []
    all_ask = threading.Barrier(3)

    @once
    def work() -> None:
        calls.append(1)
        raise ValueError("no")

    def ask() -> None:
        all_ask.wait(timeout=30)
        try:
            work()
        except ValueError as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)

    assert calls == [1]
    assert len(errors) == 3
    assert len(set(map(id, errors))) == 1
