"""How many deliveries jobs took until they were acked or dead."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from .cells import PLACE


def tries_of(cells: DataFrame) -> DataFrame:
    """(place, attempt, outcome, jobs) of each queue; `outcome` acked or dead."""
    ended = cells.where(f.col("what").isin("acked", "dead") & f.col("attempt").isNotNull())
    return ended.groupBy(*PLACE, "attempt", f.col("what").alias("outcome")).agg(f.sum("events").alias("jobs"))
