"""What earlier reports and earlier days tell about a day, and where the tables of runs are."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from queues.lake.deletion import deleted_days
from queues.lake.storage import Storage

from .events import no_rows, spark_url
from .session import in_one_partition
from .tables.cells import SCOPE
from .tables.changes import READ, WEEKS

_FIGURES: Final = t.StructType(
    [
        *(t.StructField(name, t.StringType()) for name in SCOPE),
        t.StructField("hour", t.IntegerType()),
        *(t.StructField(name, t.DoubleType() if name == "success_rate" else t.LongType()) for name in READ),
        t.StructField("backlog", t.LongType()),
        t.StructField("backlog_base_known", t.BooleanType()),
    ]
)
"""What is read of figures. Told so, Spark need not look into the files before it plans."""

_TIME_ZONE: Final = t.StructField("time_zone", t.StringType())


@dataclass(frozen=True, slots=True, kw_only=True)
class Predecessor:
    """The report of the day before. `handed_on`: a digest of what the next day takes from it (`handed_on_by`)."""

    date: str
    run: str
    handed_on: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """How many jobs each queue had left when the day began. `known`: whether other queues had none.

    `report`: the report that says so, None if there is none.
    """

    backlog: DataFrame
    known: bool
    report: Predecessor | None = None


def backlog_before(spark: SparkSession, *, lake: str, output: Output, day: date) -> Before:
    """By the report of the day before. Without one it is not known, but on the first day that the lake has.

    One that was made before that day was over does not say with what this one begins.
    """
    yesterday = day - timedelta(days=1)
    run_id = output.run_that_counts(yesterday)
    summary = output.read_summary(yesterday, run_id) if run_id is not None else {}
    if run_id is None or summary.get("complete") is False:
        storage = Storage(lake)
        first = min((entry.name for entry in storage.list("") if entry.name.startswith("date=")), default="")
        is_first = first in ("", f"date={day.isoformat()}") and not deleted_days(storage)
        return Before(backlog=_backlog(figures_of_days(spark, [])), known=is_first)
    figures = figures_of_days(spark, [output.table_url(yesterday, "figures", run_id)])
    report = Predecessor(date=yesterday.isoformat(), run=run_id, handed_on=str(summary.get("handed_on", "")))
    return Before(backlog=_backlog(figures), known=True, report=report)


def handed_on_by(figures: DataFrame, lost: DataFrame) -> str:
    """A digest of what the next day's report takes from a day: the backlogs of its queues and the leases it lost.

    `figures`: of the day, without hours. `lost`: (scope, job, attempt), each once.
    """
    hashes = _backlog(figures).selectExpr(f"xxhash64({', '.join(SCOPE)}, backlog, backlog_base_known) AS hash")
    hashes = hashes.unionAll(lost.selectExpr(f"xxhash64({', '.join(SCOPE)}, job, attempt) AS hash"))
    (row,) = hashes.selectExpr("count(*) AS n", "sum(CAST(hash AS decimal(38, 0))) AS sum").collect()
    return f"{row['n']}:{row['sum'] or 0}"


def past_figures(
    spark: SparkSession, *, output: Output, day: date, holidays: Collection[date] = frozenset()
) -> DataFrame:
    """Figures of the same weekday in past weeks, as far as they are there; holidays are left out."""
    weeks = [day - timedelta(weeks=back) for back in range(1, WEEKS + 1)]
    runs = [(then, output.run_that_counts(then)) for then in weeks if then not in holidays]
    return figures_of_days(
        spark, [output.table_url(then, "figures", run_id) for then, run_id in runs if run_id is not None]
    )


def figures_of_days(spark: SparkSession, urls: Sequence[str], *, time_zone: bool = False) -> DataFrame:
    """Figures of days and of their hours, from these tables. `time_zone`: with that column, which local days have."""
    schema = t.StructType([*_FIGURES, _TIME_ZONE]) if time_zone else _FIGURES
    return spark.read.schema(schema).parquet(*urls) if urls else no_rows(spark, schema)


def _backlog(figures: DataFrame) -> DataFrame:
    return figures.where("hour IS NULL AND queue != '' AND backlog IS NOT NULL").select(
        *SCOPE, "backlog", "backlog_base_known"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """`OUT/date=D/run=ID/`: a directory for each table, and summary.json, which is written last."""

    storage: Storage
    run_id: str

    def folder(self, day: date, run_id: str = "") -> str:
        """Of this run, or of another."""
        return f"date={day.isoformat()}/run={run_id or self.run_id}"

    def table_url(self, day: date, table: str, run_id: str = "") -> str:
        """As Spark calls it."""
        return spark_url(self.storage.url(f"{self.folder(day, run_id)}/{table}.parquet"))

    def write_table(self, day: date, table: str, rows: DataFrame, *order: str, lists: str = "") -> None:
        """One file, its rows in `order`. `lists`: a column of lists of structs, whose fields become columns of a row
        for each."""
        ordered = in_one_partition(rows).sortWithinPartitions(*order)
        if lists:
            ordered = ordered.select(*(name for name in rows.columns if name != lists), f.inline(lists))
        ordered.write.parquet(self.table_url(day, table))

    def write_summary(self, day: date, summary: Mapping[str, Any]) -> None:
        """Without it, the run does not count. Raises LakeError."""
        content = json.dumps(summary, indent=1, ensure_ascii=False).encode()
        self.storage.put(f"{self.folder(day)}/summary.json", content)

    def read_summary(self, day: date, run_id: str) -> dict[str, Any]:
        """Of a run; nothing if it has none, or something else."""
        try:
            summary = json.loads(self.storage.read(f"{self.folder(day, run_id)}/summary.json"))
        except (FileNotFoundError, ValueError):
            return {}
        return summary if isinstance(summary, dict) else {}

    def forget(self, day: date) -> None:
        """Delete what this run has written for a day, if anything."""
        if self.storage.list(self.folder(day)):
            self.storage.fs.rm(self.storage.path(self.folder(day)), recursive=True)

    def run_that_counts(self, day: date) -> str | None:
        """The run of the day's report: this one, if it has done that day already, or what current.json says."""
        if any(entry.name == "summary.json" for entry in self.storage.list(self.folder(day))):
            return self.run_id
        try:
            current = json.loads(self.storage.read(f"date={day.isoformat()}/current.json"))
            run_id = str(current["run"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None
        return run_id if self.storage.list(f"{self.folder(day, run_id)}/figures.parquet") else None
