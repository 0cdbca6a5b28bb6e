"""The rule of `queues.lake.sketch` as expressions of Spark."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as f

from queues.lake.sketch import EXACT_BELOW_MS, LAST, PER_DOUBLING


def bucket_of(ms: Column) -> Column:
    """The bucket of a time ≥ 0 (int); null of null."""
    # Spark has no function for the length of a number in bits. Half a millisecond keeps logarithms clear of whole
    # numbers: at 2^42 by 2e-13, ten times what a double may be off there. Longer times fall into the last bucket.
    shift = f.floor(f.log2(ms + f.lit(0.5))).cast("int") - (EXACT_BELOW_MS.bit_length() - 2)
    wide = f.least(shift * PER_DOUBLING + f.call_function("shiftright", ms, shift), f.lit(LAST))
    return f.when(ms < EXACT_BELOW_MS, ms).when(ms.isNotNull(), wide).cast("int")  # `least` passes over nulls


def least_of(bucket: Column) -> Column:
    """The least time of a bucket, in ms."""
    shift = f.floor(bucket / PER_DOUBLING).cast("int") - 1
    above = f.call_function("shiftleft", (bucket - shift * PER_DOUBLING).cast("long"), shift)
    return f.when(bucket < EXACT_BELOW_MS, bucket.cast("long")).otherwise(above)
