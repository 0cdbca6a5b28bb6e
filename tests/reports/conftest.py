"""One Spark for all tests of the reports, in a place whose clocks change: no figure may depend on that."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import SparkSession

from queues.lake.files import read_day
from queues.lake.storage import Storage
from queues.reports.day import DayReport
from queues.reports.history import Output
from queues.reports.hour_cells import CellFiles
from queues.reports.reduction import DayCells
from queues.reports.session import SparkOptions, spark_session

if TYPE_CHECKING:
    from .test_anchors import Anchors
    from .test_gaps import CutStream

RunDay = Callable[..., dict[str, Any]]
ReduceDay = Callable[..., None]

QUICK = {"spark.sql.shuffle.partitions": "2"}
"""There are few rows."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    options = SparkOptions(master="local[2]", memory="1g", conf=QUICK, is_brief=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "America/New_York")  # for the Java process; this one asked for its time zone long ago
        patch.setenv("PYSPARK_PYTHON", sys.executable)  # rows made in a test come from a Python; reports start none
        with spark_session(options, scratch=tmp_path_factory.mktemp("spark")) as session:
            yield session


@pytest.fixture(scope="session")
def run_day(spark: SparkSession) -> RunDay:
    """Compute a day's report of `lake` into `out`; its summary. `today`: the day on which it is computed."""

    def run(lake: Path, out: Path, day: str, run: str = "one", today: str = "", **others: Any) -> dict[str, Any]:
        output = Output(storage=Storage(str(out)), run_id=run)
        others |= {"today": date.fromisoformat(today)} if today else {}
        report = DayReport(spark, lake=str(lake), output=output, day=date.fromisoformat(day), **others)
        return report.run(master="local[2]")

    return run


@pytest.fixture(scope="session")
def reduce_day(spark: SparkSession) -> ReduceDay:
    """Make cells of a day's hours that have none, as a report does to begin with: a fifth of its work."""

    def reduce(lake: Path, out: Path, day: str, run: str) -> None:
        when = date.fromisoformat(day)
        cells = DayCells(spark, CellFiles(Storage(str(out)), when), lake=Storage(str(lake)).url(""))
        files = read_day(str(lake), when)
        cells.look(files, files.live, [])
        cells.reduce(run)

    return reduce


@dataclass(frozen=True, slots=True)
class CountedDays:
    """Reports of two days of many pools, whose jobs Redis has counted: where they are, what was said of each day, and
    what test_anchors.py and test_gaps.py know of their pools."""

    out: Path
    summaries: dict[str, dict[str, Any]]
    anchors: Anchors
    stream: CutStream


@pytest.fixture(scope="session")
def counted_days(run_day: RunDay, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> CountedDays:
    """One lake for the pools of two modules: each report takes seconds, however few its pools."""
    from . import test_anchors, test_gaps
    from .test_history import make_current

    lake, out = tmp_path_factory.mktemp("lake"), tmp_path_factory.mktemp("out")
    anchors, stream = test_anchors.write_pools(lake, redis_url), test_gaps.write_pools(lake)
    summaries = {}
    for day in (test_anchors.BEFORE, test_anchors.DAY):
        summaries[day] = run_day(lake, out, day)
        make_current(out, day)
    return CountedDays(out, summaries, anchors, stream)
