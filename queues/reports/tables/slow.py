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
    """(place, wait_from, run_from): no value below these is among the queue's longest. Null: there are none at all."""
    kinds = [METRICS[metric] for metric in LISTED]
    values = cells.where(f.col("what").isin(*kinds) & f.col("bucket").isNotNull())
    counted = values.groupBy(*PLACE, "what", "bucket").agg(f.sum("measured").alias("n"))
    downward = Window.partitionBy(*PLACE, "what").orderBy(f.col("bucket").desc())
    above = f.sum("n").over(downward.rowsBetween(Window.unboundedPreceding, Window.currentRow)) - f.col("n")
    least = counted.withColumn("above", above).where(f.col("above") < TOP)
    return least.groupBy(*PLACE).agg(*(_from(metric) for metric in LISTED))


def slow_of(events: DataFrame, limits: DataFrame) -> DataFrame:
    """(place, metric, rank, job, attempt, ms, at, worker): the longest of each queue; of equals the earlier first."""
    kind = f.col("kind")
    ms = f.when(kind == METRICS["wait"], f.col("wait_ms")).when(kind == METRICS["run"], f.col("run_ms"))
    metric = f.when(kind == METRICS["wait"], "wait").otherwise("run")
    told = events.where(kind.isin(*(METRICS[metric] for metric in LISTED))).select(
        *PLACE, metric.alias("metric"), f.greatest(ms, f.lit(0)).alias("ms"), "job", "attempt", "at", "worker"
    )
    least = f.when(f.col("metric") == "wait", f.col("wait_from")).otherwise(f.col("run_from"))
    long = told.join(f.broadcast(limits), [*PLACE]).where(f.col("ms") >= least)
    # Kept down to TOP as they come: where all jobs take equally long, all of them pass the limit.
    order = f.struct("ms", -f.unix_millis("at"), "job", "attempt")
    row = f.struct("ms", "at", "job", "attempt", "worker")
    top = long.groupBy(*PLACE, "metric").agg(f.max_by(row, order, TOP).alias("top"))
    ranked = top.select(*PLACE, "metric", f.posexplode("top").alias("rank", "row"))
    columns = [f.col(f"row.{name}").alias(name) for name in ("job", "attempt", "ms", "at", "worker")]
    return ranked.select(*PLACE, "metric", (f.col("rank") + 1).alias("rank"), *columns)


def _from(metric: str) -> Column:
    return f.min(f.when(f.col("what") == METRICS[metric], least_of(f.col("bucket")))).alias(f"{metric}_from")
