"""Exact percentiles of any number of values, without sorting them.

The cells tell which bucket a percentile lies in, and how many values of the bucket come before it. A second pass over
the events then counts values only of the buckets that hold a percentile, and picks it there.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from queues.lake.sketch import EXACT_BELOW_MS
from queues.reports.buckets import bucket_of

from .cells import METRICS, measured
from .levels import KEY, at_all_levels, each_level

PERCENTS: Final = (50, 90, 95, 99)

BROADCAST_ROWS: Final = 2_000_000
"""Up to so many wanted cells are sent to each executor (some 30 bytes each); beyond, events are shuffled to them."""

_BUCKET: Final = (*KEY, "what", "bucket")
_HASH: Final = f"xxhash64({', '.join(_BUCKET)}) AS hash"


def targets_of(cells: DataFrame) -> DataFrame:
    """(KEY, what, percent, bucket, nth): the percentile is the nth value, from 1, of this bucket."""
    values = cells.where("bucket IS NOT NULL")
    found = at_all_levels(values, f.sum("measured").alias("n"), by=("what", "bucket"))
    group = Window.partitionBy(*KEY, "what")
    upward = group.orderBy("bucket").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    counted = found.withColumns({"upto": f.sum("n").over(upward), "total": f.sum("n").over(group)})
    # Nearest rank: the least value that at least this share of the values does not exceed. In whole numbers.
    ranks = [f"struct({percent} AS percent, (total * {percent} + 99) DIV 100 AS rank)" for percent in PERCENTS]
    ranked = counted.selectExpr(
        *KEY, "what", "bucket", "upto - n AS before", "upto", f"inline(array({', '.join(ranks)}))"
    )
    here = ranked.where("before < rank AND rank <= upto")
    return here.selectExpr(*KEY, "what", "percent", "bucket", "rank - before AS nth")


def wanted_cells(cells: DataFrame, targets: DataFrame) -> DataFrame:
    """(hash) of the cells whose values have to be looked at one by one.

    A hash, for joins by one number are several times as fast. Two cells of the same hash do no harm: what is not a
    target's is dropped in the end.
    """
    wide = cells.where(f"bucket >= {EXACT_BELOW_MS}").selectExpr(*_BUCKET, _HASH)
    return each_level(wide).join(targets, [*_BUCKET], "left_semi").select("hash").distinct()


def percentiles_of(events: DataFrame, targets: DataFrame, wanted: DataFrame, *, few: bool) -> DataFrame:
    """(KEY, wait_p50, …) in ms. `wanted`: as `wanted_cells` says; `few`: no more than BROADCAST_ROWS."""
    valued = measured(events).where(f"ms >= {EXACT_BELOW_MS}").withColumn("bucket", bucket_of(f.col("ms")))
    looked_up = f.broadcast(wanted) if few else wanted
    near = valued.selectExpr(*_BUCKET, "ms", _HASH).join(looked_up, "hash", "left_semi")
    values = near.groupBy(*_BUCKET, "ms").agg(f.expr("count(*) AS n"))
    at_levels = each_level(values).groupBy(*_BUCKET, "ms").agg(f.expr("sum(n) AS n"))
    upward = Window.partitionBy(*_BUCKET).orderBy("ms").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    counted = at_levels.withColumn("upto", f.sum("n").over(upward))
    # A bucket below EXACT_BELOW_MS is one value, which nobody had to count.
    met = counted.join(targets, [*_BUCKET], "right").where(f"bucket < {EXACT_BELOW_MS} OR upto >= nth")
    percentiles = (
        f"min(IF(what = '{what}' AND percent = {percent}, IF(bucket < {EXACT_BELOW_MS}, bucket, ms), NULL))"
        f" AS {metric}_p{percent}"
        for metric, what in METRICS.items()
        for percent in PERCENTS
    )
    return met.groupBy(*KEY).agg(*map(f.expr, percentiles))
