"""The jobs that waited and ran longest, by id."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from queues.reports.buckets import least_of

from .cells import METRICS, PLACE

TOP: Final = 10
"""Jobs of a queue and metric."""

LISTED: Final = ("wait", "run")


def limits_of(cells: DataFrame) -> DataFrame:
    """(place, wait_from, run_from): no value below these is among the queue's longest. Null: there are none at all.

    What took 0 ms is not among the longest, however few others there are: it may be all jobs of a queue.
    """
    kinds = [METRICS[metric] for metric in LISTED]
    values = cells.where(f.col("what").isin(*kinds) & (f.col("bucket") > 0))
    counted = values.groupBy(*PLACE, "what", "bucket").agg(f.sum("measured").alias("n"))
    downward = Window.partitionBy(*PLACE, "what").orderBy(f.col("bucket").desc())
    above = f.sum("n").over(downward.rowsBetween(Window.unboundedPreceding, Window.currentRow)) - f.col("n")
    least = counted.withColumn("above", above).where(f.col("above") < TOP)
    return least.groupBy(*PLACE).agg(*(_from(metric) for metric in LISTED))


def slow_of(notable: DataFrame) -> DataFrame:
    """(place, metric, rank, job, attempt, ms, at, worker): the longest of each queue; of equals the earlier first."""
    long = notable.where(f.col("ms").isNotNull())
    metric = f.when(f.col("kind") == METRICS["wait"], "wait").otherwise("run")
    order = f.struct("ms", -f.unix_millis("at"), "job", "attempt")
    row = f.struct("ms", "at", "job", "attempt", "worker")
    # Kept down to TOP as they come, not sorted: where jobs take equally long, very many may be above the limit.
    top = long.groupBy(*PLACE, metric.alias("metric")).agg(f.max_by(row, order, TOP).alias("top"))
    ranked = top.select(*PLACE, "metric", f.posexplode("top").alias("rank", "row"))
    columns = [f.col(f"row.{name}").alias(name) for name in ("job", "attempt", "ms", "at", "worker")]
    return ranked.select(*PLACE, "metric", (f.col("rank") + 1).alias("rank"), *columns)


def _from(metric: str) -> Column:
    return f.min(f.when(f.col("what") == METRICS[metric], least_of(f.col("bucket")))).alias(f"{metric}_from")
