"""The rule of `queues.lake.sketch` as expressions of Spark."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as f

from queues.lake.sketch import EXACT_BELOW_MS, LAST, PER_DOUBLING, SHIFTS


def bucket_of(ms: Column) -> Column:
    """The bucket of a time ≥ 0 (int); null of null."""
    rule = f.when(ms < EXACT_BELOW_MS, ms)
    for shift in range(1, SHIFTS + 1):
        rule = rule.when(ms < EXACT_BELOW_MS << shift, f.shiftright(ms, shift) + PER_DOUBLING * shift)
    return rule.when(ms.isNotNull(), f.lit(LAST)).cast("int")


def least_of(bucket: Column) -> Column:
    """The least time of a bucket, in ms."""
    shift = f.floor(bucket / PER_DOUBLING).cast("int") - 1
    above = f.call_function("shiftleft", (bucket - PER_DOUBLING * shift).cast("long"), shift)
    return f.when(bucket < EXACT_BELOW_MS, bucket.cast("long")).otherwise(above)
