"""Jobs that somebody else may still have been working on when they were delivered again."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from .cells import PLACE
from .levels import at_all_levels


def duplicates_of(notable: DataFrame, lost: DataFrame) -> DataFrame:
    """(KEY, duplicates): deliveries whose attempt before ended in a lost lease. `lost`: also the day before's."""
    again = notable.where((f.col("kind") == "consumed") & (f.col("attempt") > 1))
    before = lost.withColumn("attempt", f.col("attempt") + 1)
    twice = again.join(before, [*PLACE, "job", "attempt"], "left_semi")
    return at_all_levels(twice, f.count(f.lit(1)).alias("duplicates"))
