"""How many jobs waited or ran how long, in buckets that add up over days (`queues.lake.sketch`)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from .cells import METRICS, PLACE


def histograms_of(cells: DataFrame) -> DataFrame:
    """(place, metric, bucket, jobs) of the day; `queue` "" for a namespace."""
    metric = f.create_map(*(f.lit(word) for name, what in METRICS.items() for word in (what, name)))
    values = cells.where(f.col("bucket").isNotNull()).withColumn("metric", metric[f.col("what")])
    sets = [[*PLACE, "metric", "bucket"], ["pool", "namespace", "metric", "bucket"]]
    summed = values.groupingSets(sets, *PLACE, "metric", "bucket").agg(f.sum("measured").alias("jobs"))
    named = summed.withColumn("queue", f.coalesce("queue", f.lit("")))
    return named.select(*PLACE, "metric", "bucket", "jobs")
