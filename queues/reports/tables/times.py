"""Times of each metric at each level: number, mean, greatest, exact percentiles, and histograms that add up over days.

Scope, metric and hour are one number here, the *key*, so that what is shuffled and sorted is three whole numbers: where
there are many queues, nearly each event has a time of its own.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from .cells import DAY, METRICS, SCOPE, bucket_of

PERCENTS: Final = (50, 90, 95, 99)

_HOURS: Final = 32
_WHOLE_DAY: Final = _HOURS - 1
"""In the place of an hour."""

_METRICS: Final = tuple(METRICS)
_HOUR: Final = f"key % {_HOURS}"
_METRIC: Final = f"key DIV {_HOURS} % {len(_METRICS)}"
_ID: Final = f"key DIV {_HOURS * len(_METRICS)}"


def scopes_of(counts: DataFrame) -> DataFrame:
    """(scope, id, namespace_id) of each queue and namespace, ids from 1."""
    queues = counts.select(*SCOPE).distinct()
    both = queues.unionByName(queues.selectExpr("pool", "namespace", "'' AS queue").distinct())
    numbered = both.withColumn("id", f.row_number().over(Window.orderBy(*SCOPE)).cast("long"))
    return numbered.withColumn("namespace_id", f.min("id").over(Window.partitionBy("pool", "namespace")))


def measures_of(values: DataFrame, scopes: DataFrame) -> DataFrame:
    """(key, bucket, jobs, sum_ms, max_ms, p50, …) at each level; the bucket is null for hours.

    A percentile is in the row of the bucket that it lies in, and null in others. `scopes`: as `scopes_of` says.
    """
    number = " ".join(f"WHEN '{metric}' THEN {number}" for number, metric in enumerate(_METRICS))
    rest = f"* {len(_METRICS)} + CASE metric {number} END) * {_HOURS} + hour AS key"
    known = values.join(scopes, [*SCOPE])
    of_hours = known.selectExpr(f"(id {rest}", "ms", "n")
    of_namespaces = _add_up(known.selectExpr(f"(namespace_id {rest}", "ms", "n"))
    of_days = [_add_up(rows.selectExpr(f"key | {_WHOLE_DAY}L AS key", "ms", "n")) for rows in (of_hours, of_namespaces)]
    return _measured(reduce(lambda one, other: one.unionAll(other), of_days, of_hours.unionAll(of_namespaces)))


def _add_up(values: DataFrame) -> DataFrame:
    return values.groupBy("key", "ms").agg(f.sum("n").alias("n"))


def _measured(values: DataFrame) -> DataFrame:
    group = Window.partitionBy("key")
    upward = group.orderBy("ms").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    ranked = values.withColumns({"upto": f.sum("n").over(upward), "total": f.sum("n").over(group)})
    # Nearest rank: the least value that at least this share of the values does not exceed. In whole numbers.
    percentiles = [f"min(IF(upto * 100 >= total * {percent}, ms, NULL)) AS p{percent}" for percent in PERCENTS]
    others = ("sum(n) AS jobs", "sum(ms * n) AS sum_ms", "max(ms) AS max_ms")
    bucket = f.when(f.expr(f"{_HOUR} = {_WHOLE_DAY}"), bucket_of(f.col("ms"))).alias("bucket")
    return ranked.groupBy("key", bucket).agg(*map(f.expr, (*others, *percentiles)))


def metrics_of(measures: DataFrame, scopes: DataFrame) -> DataFrame:
    """(KEY, wait_count, wait_sum, wait_max, wait_p50, …), times in ms."""
    parts = {"count": "sum(IF({here}, jobs, 0))", "sum": "sum(IF({here}, sum_ms, NULL))"}
    parts["max"] = "max(IF({here}, max_ms, NULL))"
    parts |= {f"p{percent}": f"min(IF({{here}}, p{percent}, NULL))" for percent in PERCENTS}
    columns = [
        how.format(here=f"{_METRIC} = {number}") + f" AS {metric}_{part}"
        for number, metric in enumerate(_METRICS)
        for part, how in parts.items()
    ]
    means = [f"{metric}_sum / nullif({metric}_count, 0) AS {metric}_mean" for metric in _METRICS]
    grouped = measures.groupBy(f.expr(f"{_ID} AS id"), f.expr(f"{_HOUR} AS hour_number")).agg(*map(f.expr, columns))
    hour = f.expr(f"CAST(IF(hour_number = {_WHOLE_DAY}, {DAY}, hour_number) AS int)")
    joined = grouped.join(scopes, "id").withColumn("hour", hour)
    return joined.drop("id", "namespace_id", "hour_number").selectExpr("*", *means)


def histograms_of(measures: DataFrame, scopes: DataFrame) -> DataFrame:
    """(scope, metric, bucket, jobs) of the day; `queue` "" for a namespace."""
    names = ", ".join(f"'{metric}'" for metric in _METRICS)
    of_days = measures.where(f"{_HOUR} = {_WHOLE_DAY}").selectExpr(
        f"{_ID} AS id", f"element_at(array({names}), CAST({_METRIC} AS int) + 1) AS metric", "bucket", "jobs"
    )
    return of_days.join(scopes, "id").select(*SCOPE, "metric", "bucket", "jobs")
