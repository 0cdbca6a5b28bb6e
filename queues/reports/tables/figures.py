"""What is said of each queue, namespace, hour and day in numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from .cells import METRICS, PLACE
from .levels import DAY, KEY, at_all_levels
from .percentiles import PERCENTS

KINDS: Final = (
    "published", "consumed", "acked", "failed", "lease_lost", "expired", "dead", "respawned", "released", "rescheduled",
)  # fmt: skip
COUNTS: Final = (
    "published", "consumed", "acked", "failed", "retried", "lease_lost", "expired", "dead", "respawned", "released",
    "deleted", "rescheduled", "duplicates", "bytes", "arrivals", "departures",
)  # fmt: skip
"""Figures that add up over hours, queues and days."""

MEASURED: Final = ("count", "mean", *(f"p{percent}" for percent in PERCENTS), "max", "exact")
LISTED: Final = (
    *KEY,
    *COUNTS,
    *(f"{metric}_{part}" for metric in METRICS for part in MEASURED),
    "success_rate",
    "backlog",
    "backlog_base_known",
    "first_at",
    "last_at",
)
"""The table's columns, in order."""

_ADDED: Final = ("events", "measured", "sum_ms", "again", "bytes", "gone", "destroyed")
_EXTREMES: Final[dict[str, Callable[[str], Column]]] = {"max_ms": f.max, "first_at": f.min, "last_at": f.max}


def sums_of(cells: DataFrame) -> DataFrame:
    """All but percentiles, duplicates and backlog, at each level."""
    # Buckets and attempts are summed up first: the many columns that follow are then computed of few rows.
    few = cells.groupBy(*PLACE, "hour", "what").agg(
        *(f.sum(name).alias(name) for name in _ADDED), *(_EXTREMES[name](name).alias(name) for name in _EXTREMES)
    )
    summed = at_all_levels(few, *map(_events, KINDS), *_others(), *(part for m in METRICS for part in _measures(m)))
    arrived = f.col("published") + f.col("respawned")
    left = f.col("acked") + f.col("expired") + f.col("dead") + f.col("gone")
    ended = f.col("acked") + f.col("dead") + f.col("expired")
    return summed.withColumns(
        {
            "arrivals": arrived,
            "departures": left,
            "success_rate": f.when(ended > 0, f.col("acked") / ended),
            **{f"{metric}_mean": _mean(metric) for metric in METRICS},
        }
    )


def figures_of(sums: DataFrame, percentiles: DataFrame, duplicates: DataFrame, backlog: DataFrame) -> DataFrame:
    """The table. `backlog` has a row of its own for each queue in which nothing happened, but jobs are left."""
    measures = [
        f.when(f.col("what") == what, f.col(f"p{percent}")).alias(f"{metric}_p{percent}")
        for metric, what in METRICS.items()
        for percent in PERCENTS
    ]
    parts = (sums, percentiles.select(*KEY, *measures), duplicates, backlog)
    every = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    # Each column comes from one row of one part only; one grouping of all is cheaper than three joins.
    joined = every.groupBy(*KEY).agg(*(f.max(name).alias(name) for name in every.columns if name not in KEY))
    zeros = [*COUNTS, *(f"{metric}_count" for metric in METRICS)]
    filled = joined.withColumns({name: f.coalesce(name, f.lit(0).cast("long")) for name in zeros})
    exact = filled.withColumns({f"{metric}_exact": f.lit(True) for metric in METRICS})
    hour = f.when(f.col("hour") != DAY, f.col("hour"))
    return exact.select(*LISTED).withColumn("hour", hour)


def _events(kind: str) -> Column:
    return f.sum(f.when(f.col("what") == kind, f.col("events")).otherwise(0)).alias(kind)


def _others() -> list[Column]:
    total = f.coalesce(f.sum("destroyed"), f.lit(0))
    deleted = f.sum(f.when(f.col("what") == "deleted", f.col("events")).otherwise(0)) + total
    return [
        f.sum("again").alias("retried"),
        deleted.alias("deleted"),
        f.coalesce(f.sum("bytes"), f.lit(0)).alias("bytes"),
        f.coalesce(f.sum("gone"), f.lit(0)).alias("gone"),
        f.min("first_at").alias("first_at"),
        f.max("last_at").alias("last_at"),
    ]


def _measures(metric: str) -> list[Column]:
    here = f.col("what") == METRICS[metric]
    return [
        f.sum(f.when(here, f.col("measured")).otherwise(0)).alias(f"{metric}_count"),
        f.sum(f.when(here, f.col("sum_ms"))).alias(f"{metric}_sum"),
        f.max(f.when(here, f.col("max_ms"))).alias(f"{metric}_max"),
    ]


def _mean(metric: str) -> Column:
    count = f.col(f"{metric}_count")
    return f.when(count > 0, f.col(f"{metric}_sum") / count)
