"""Exact percentiles of any number of values, without sorting them.

The cells tell which bucket a percentile lies in, and how many values of the bucket come before it. A second pass over
the events then counts values only of the buckets that hold a percentile, and picks it there.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from queues.lake.sketch import EXACT_BELOW_MS
from queues.reports.buckets import bucket_of

from .cells import PLACE, measured
from .levels import KEY, at_all_levels, each_level

PERCENTS: Final = (50, 90, 95, 99)

BROADCAST_ROWS: Final = 2_000_000
"""Up to so many wanted cells are sent to each executor (some 30 bytes each); beyond, events are shuffled to them."""


def targets_of(cells: DataFrame) -> DataFrame:
    """(KEY, what, percent, bucket, nth): the percentile is the nth value, from 1, of this bucket."""
    values = cells.where(f.col("bucket").isNotNull())
    found = at_all_levels(values, f.sum("measured").alias("n"), by=("what", "bucket"))
    group = Window.partitionBy(*KEY, "what")
    upward = group.orderBy("bucket").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    counted = found.withColumns({"upto": f.sum("n").over(upward), "total": f.sum("n").over(group)})
    # Nearest rank: the least value that at least this share of the values does not exceed. In whole numbers.
    ranks = f.array(*(_percent(percent, f.col("total")) for percent in PERCENTS))
    ranked = counted.select(*KEY, "what", "bucket", "n", "upto", f.explode(ranks).alias("wanted"))
    before = f.col("upto") - f.col("n")
    here = ranked.where((before < f.col("wanted.rank")) & (f.col("wanted.rank") <= f.col("upto")))
    return here.select(*KEY, "what", "wanted.percent", "bucket", (f.col("wanted.rank") - before).alias("nth"))


def wanted_cells(cells: DataFrame, targets: DataFrame) -> DataFrame:
    """(place, hour, what, bucket) of the cells whose values have to be looked at one by one."""
    wide = f.col("bucket") >= EXACT_BELOW_MS
    levels = each_level(
        cells.where(wide).select(
            *PLACE, "hour", "what", "bucket", f.col("hour").alias("at_hour"), f.col("queue").alias("of")
        )
    )
    hits = levels.join(targets.where(wide).select(*KEY, "what", "bucket"), [*KEY, "what", "bucket"], "left_semi")
    return hits.select(
        "pool", "namespace", f.col("of").alias("queue"), f.col("at_hour").alias("hour"), "what", "bucket"
    ).distinct()


def percentiles_of(events: DataFrame, targets: DataFrame, wanted: DataFrame, *, rows: int) -> DataFrame:
    """(KEY, what, p50, p90, p95, p99) in ms. `wanted`: as `wanted_cells` says, `rows` of them."""
    cell = [*PLACE, "hour", "what", "bucket"]
    valued = measured(events).where(f.col("ms") >= EXACT_BELOW_MS).withColumn("bucket", bucket_of(f.col("ms")))
    # By a hash of the cell, for joins by one number are several times as fast. Two cells of the same hash do no harm:
    # what is not a target's is dropped below.
    hashed = wanted.select(f.xxhash64(*cell).alias("hash")).distinct()
    looked_up = f.broadcast(hashed) if rows <= BROADCAST_ROWS else hashed
    near = valued.withColumn("hash", f.xxhash64(*cell)).join(looked_up, "hash", "left_semi")
    values = near.groupBy(*cell, "ms").agg(f.count(f.lit(1)).alias("n"))
    key = [*KEY, "what", "bucket"]
    at_levels = each_level(values).groupBy(*key, "ms").agg(f.sum("n").alias("n"))
    upward = Window.partitionBy(*key).orderBy("ms").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    counted = at_levels.withColumn("upto", f.sum("n").over(upward))
    wide = f.col("bucket") >= EXACT_BELOW_MS
    met = counted.join(targets.where(wide), key).where(f.col("upto") >= f.col("nth"))
    found = met.groupBy(*KEY, "what", "percent").agg(f.min("ms").alias("ms"))
    exact = targets.where(~wide).select(*KEY, "what", "percent", f.col("bucket").cast("long").alias("ms"))
    every = found.unionByName(exact)
    return every.groupBy(*KEY, "what").agg(
        *(f.max(f.when(f.col("percent") == percent, f.col("ms"))).alias(f"p{percent}") for percent in PERCENTS)
    )


def _percent(percent: int, total: Column) -> Column:
    rank = f.floor((total * percent + 99) / 100)
    return f.struct(f.lit(percent).alias("percent"), rank.alias("rank"))
