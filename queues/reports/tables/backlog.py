"""How many jobs are left at the end of each hour, from what came and went."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from .cells import PLACE
from .levels import DAY, KEY


def backlog_of(sums: DataFrame, before: DataFrame, *, known: bool, pools_with_gaps: Collection[str] = ()) -> DataFrame:
    """(KEY, backlog, backlog_base_known) at each level.

    `before`: (place, backlog, backlog_base_known) of queues at the end of the day before. `known`: whether a queue that
    is not in it had none then; otherwise nobody knows. `pools_with_gaps`: pools that lack events of the day; it is not
    known of which queue, so no base of theirs counts as known.
    A day cannot begin with fewer jobs than it takes for none of its hours to end below zero. So that is what it begins
    with where nobody knows, or where more has gone than events tell of; its base then counts as not known.
    """
    is_queue = f.col("queue") != ""
    is_hour = f.col("hour") != DAY
    net = f.col("arrivals") - f.col("departures")
    hourly = Window.partitionBy(*PLACE).orderBy("hour").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    moved = sums.where(is_hour).select(*KEY, f.sum(net).over(hourly).alias("moved"))
    least = moved.where(is_queue).groupBy(*PLACE).agg(f.max(f.greatest(-f.col("moved"), f.lit(0))).alias("least"))
    told = before.withColumnRenamed("backlog", "told").withColumnRenamed("backlog_base_known", "was_known")
    begun = least.join(told, [*PLACE], "full").select(
        *PLACE,
        f.coalesce("told", f.lit(0)).alias("told"),
        f.coalesce("least", f.lit(0)).alias("least"),
        f.coalesce("was_known", f.lit(known)).alias("was_known"),
    )
    has_gap = f.col("pool").isin(*pools_with_gaps)
    queues = begun.select(
        *PLACE,
        f.greatest("told", "least").alias("base"),
        (f.col("was_known") & (f.col("least") <= f.col("told")) & ~has_gap).alias("backlog_base_known"),
    )
    namespaces = queues.groupBy("pool", "namespace").agg(
        f.sum("base").alias("base"), f.min("backlog_base_known").alias("backlog_base_known")
    )
    bases = queues.unionByName(namespaces.withColumn("queue", f.lit("")))
    ends = moved.groupBy(*PLACE).agg(f.max_by("moved", "hour").alias("moved")).withColumn("hour", f.lit(DAY))
    by_hour = moved.join(bases, [*PLACE])
    by_day = bases.join(ends, [*PLACE], "left").withColumn("hour", f.lit(DAY))
    every = by_hour.unionByName(by_day, allowMissingColumns=True)
    backlog = f.col("base") + f.coalesce("moved", f.lit(0))
    # A queue of which nothing is left and nothing was heard is not told of.
    told_of = every.where(f.col("moved").isNotNull() | (f.col("base") != 0))
    return told_of.select(*KEY, backlog.cast("long").alias("backlog"), "backlog_base_known")
