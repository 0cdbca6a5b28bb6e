"""How many jobs waited or ran how long, in buckets that add up over days (`queues.lake.sketch`)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from .cells import METRICS, PLACE


def histograms_of(cells: DataFrame) -> DataFrame:
    """(place, metric, bucket, jobs) of the day; `queue` "" for a namespace."""
    metric = " ".join(f"WHEN '{what}' THEN '{name}'" for name, what in METRICS.items())
    values = cells.where("bucket IS NOT NULL").selectExpr(
        "pool",
        "namespace",
        "explode(array(queue, '')) AS queue",
        f"CASE what {metric} END AS metric",
        "bucket",
        "measured",
    )
    return values.groupBy(*PLACE, "metric", "bucket").agg(f.sum("measured").alias("jobs"))
