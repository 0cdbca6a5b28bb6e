"""What earlier reports and earlier days tell about a day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from functools import reduce
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from queues.lake.place import Place

from .events import no_rows
from .output import Output
from .tables.cells import PLACE
from .tables.changes import FIGURES, WEEKS

_BACKLOG: Final = t.StructType(
    [
        *(t.StructField(name, t.StringType()) for name in PLACE),
        t.StructField("backlog", t.LongType()),
        t.StructField("backlog_base_known", t.BooleanType()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """How many jobs each queue had left when the day began. `known`: whether other queues had none."""

    backlog: DataFrame
    known: bool


def backlog_before(spark: SparkSession, *, lake: str, output: Output, day: date) -> Before:
    """By the report of the day before. Without one it is not known, but on the first day that the lake has."""
    yesterday = day - timedelta(days=1)
    run = output.run_that_counts(yesterday)
    if run is None:
        first = min((entry.name for entry in Place(lake).list("") if entry.name.startswith("date=")), default="")
        is_first = first in ("", f"date={day.isoformat()}")
        return Before(backlog=no_rows(spark, _BACKLOG), known=is_first)
    figures = spark.read.parquet(output.table_url(yesterday, "figures", run))
    ended = figures.where(f.col("hour").isNull() & (f.col("queue") != "") & f.col("backlog").isNotNull())
    return Before(backlog=ended.select(*PLACE, "backlog", "backlog_base_known"), known=True)


def past_figures(spark: SparkSession, *, output: Output, day: date) -> DataFrame | None:
    """Days' figures of the same weekday in past weeks, as far as they are there; None: no week is."""
    weeks = []
    for back in range(1, WEEKS + 1):
        then = day - timedelta(weeks=back)
        run = output.run_that_counts(then)
        if run is not None:
            figures = spark.read.parquet(output.table_url(then, "figures", run))
            weeks.append(figures.where(f.col("hour").isNull()).select(*PLACE, *FIGURES))
    return reduce(DataFrame.unionByName, weeks) if weeks else None
