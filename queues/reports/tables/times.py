"""Times of each metric at each level: number, mean, greatest, exact percentiles, and histograms that add up over days.

Scope, metric and hour are one number here, the *key*, so that what is shuffled and sorted is three whole numbers: where
there are many queues, nearly each event has a time of its own.
"""

from __future__ import annotations

from collections.abc import Callable
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


Keep = Callable[[DataFrame], DataFrame]
"""Has a table computed once, though it is used several times."""


def measures_of(values: DataFrame, scopes: DataFrame, *, number: int, keep: Keep | None) -> DataFrame:
    """(key, bucket, jobs, sum_ms, max_ms, p50, …) at each level. A key's percentile is the least that its rows have.

    Buckets of hours may be null, and so is that of a row that only tells percentiles. `scopes`: as `scopes_of` says.
    `number`: of values, at most. `keep`: None where executors may be lost, as of a cluster: a table that was cut off
    from what it was made of cannot be made again.
    """
    places = scopes.count()
    names = f.broadcast(scopes) if places <= BROADCAST_ROWS else scopes
    if keep is not None and are_many(number, scopes=places):
        return _by_bucket(values, names, keep)
    return _in_order(values, names, add_up=number > MANY_VALUES)


MANY_VALUES: Final = 300_000
VALUES_OF_KEY: Final = 50
"""With fewer, most values of an hour of a queue have a bucket of their own, and nothing is gained by counting these."""


def are_many(values: int, *, scopes: int) -> bool:
    """Whether to look for percentiles by bucket: `values` rows of `scopes` queues and namespaces."""
    return values > max(MANY_VALUES, VALUES_OF_KEY * scopes * 24 * len(_METRICS))


def _in_order(values: DataFrame, scopes: DataFrame, *, add_up: bool) -> DataFrame:
    """`add_up`: equal times of a namespace's queues become one first, which pays where there are many."""
    # Times may come several times, once for each hour or queue.
    ranked = _ranked(_with_days(_of_hours(values, scopes, add_up=add_up), "ms", "n", "bucket"), "ms", "n")
    bucket = f.expr(f"IF({_HOUR} = {_WHOLE_DAY}, bucket, NULL) AS bucket")
    return ranked.groupBy("key", bucket).agg(*map(f.expr, (*_SUMS, *_PERCENTILES)))


def _by_bucket(values: DataFrame, scopes: DataFrame, keep: Keep) -> DataFrame:
    """Where there are so many values that sorting takes long: they are counted by bucket first, and only those in whose
    bucket a percentile lies are sorted."""
    hours = _of_hours(values, scopes)
    of_hours = hours.groupBy("key", "bucket").agg(*map(f.expr, (*_SUMS, "min(ms) AS min_ms")))
    added = {"jobs": "sum", "sum_ms": "sum", "max_ms": "max", "min_ms": "min"}
    levels = _with_days(of_hours, "bucket", *added).groupBy("key", "bucket")
    buckets = keep(levels.agg(*(f.expr(f"{how}({name}) AS {name}") for name, how in added.items())))
    ranked = _ranked(buckets, "bucket", "jobs").withColumn("below", f.expr("upto - jobs"))
    lies_here = (f"below * 100 < total * {percent} AND total * {percent} <= upto * 100" for percent in PERCENTS)
    # Not kept: Spark does not find a kept table again in a plan that has its source twice.
    chosen = ranked.where(" OR ".join(f"({one})" for one in lies_here)).withColumn("place", f.expr(_PLACE))
    chosen = chosen.localCheckpoint()
    told = chosen.where("min_ms = max_ms").selectExpr("key", "min_ms AS ms", "upto", "total")
    unclear = chosen.where("min_ms != max_ms").select("place", "below", "total")
    # Broadcast: at most a row for each percentile of a key, and there are 50 times as many values as keys.
    found = _with_days(hours, "ms", "n", "bucket").withColumn("place", f.expr(_PLACE))
    found = found.join(f.broadcast(unclear), "place")
    upward = Window.partitionBy("place").orderBy("ms")
    upto = f.sum("n").over(upward.rowsBetween(Window.unboundedPreceding, Window.currentRow)) + f.col("below")
    both = told.unionAll(found.select("key", "ms", upto.alias("upto"), "total"))
    percentiles = both.groupBy("key").agg(*map(f.expr, _PERCENTILES))
    return buckets.drop("min_ms").unionByName(percentiles, allowMissingColumns=True)


_SUMS: Final = ("sum(n) AS jobs", "sum(ms * n) AS sum_ms", "max(ms) AS max_ms")
_PERCENTILES: Final = tuple(f"min(IF(upto * 100 >= total * {percent}, ms, NULL)) AS p{percent}" for percent in PERCENTS)
"""Nearest rank: the least value that at least this share of the values does not exceed. In whole numbers."""

_BUCKETS: Final = 4_096
"""More than there are."""

_PLACE: Final = f"key * {_BUCKETS} + bucket"


def _of_hours(values: DataFrame, scopes: DataFrame, *, add_up: bool = False) -> DataFrame:
    """(key, ms, n, bucket) of the hours of queues, and of namespaces, whose times may come several times unless
    `add_up`."""
    number = " ".join(f"WHEN '{metric}' THEN {number}" for number, metric in enumerate(_METRICS))
    rest = f"* {len(_METRICS)} + CASE metric {number} END) * {_HOURS} + hour"
    keys = f.expr(f"(id {rest} AS of_queue"), f.expr(f"(namespace_id {rest} AS of_namespace")
    known = values.join(scopes, [*SCOPE]).select("ms", "n", bucket_of(f.col("ms")).alias("bucket"), *keys)
    if add_up:
        of_namespaces = known.groupBy(f.col("of_namespace").alias("key"), "ms", "bucket").agg(f.sum("n").alias("n"))
        return known.select(f.col("of_queue").alias("key"), "ms", "n", "bucket").unionByName(of_namespaces)
    both = known.unpivot(["ms", "n", "bucket"], ["of_queue", "of_namespace"], "level", "key")
    return both.select("key", "ms", "n", "bucket")


def _with_days(of_hours: DataFrame, *others: str) -> DataFrame:
    """(key, others) of the hours, and once more of the day in which they are."""
    both = of_hours.select("key", f.expr(f"key | {_WHOLE_DAY}L").alias("day"), *others)
    return both.unpivot([*others], ["key", "day"], "level", "key").select("key", *others)


def _ranked(rows: DataFrame, value: str, n: str) -> DataFrame:
    """With `upto`: how many of its key have at most this value, or stand before it; and with the `total` of its key.

    One order for both, so that rows are gone through once.
    """
    upward = Window.partitionBy("key").orderBy(value)
    ends = {"upto": Window.currentRow, "total": Window.unboundedFollowing}
    return rows.withColumns(
        {name: f.sum(n).over(upward.rowsBetween(Window.unboundedPreceding, end)) for name, end in ends.items()}
    )


BROADCAST_ROWS: Final = 2_000_000
"""Up to so many rows of names or numbers are sent to each executor (some 100 bytes each)."""


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
    of_days = measures.where(f"{_HOUR} = {_WHOLE_DAY} AND bucket IS NOT NULL").selectExpr(
        f"{_ID} AS id", f"element_at(array({names}), CAST({_METRIC} AS int) + 1) AS metric", "bucket", "jobs"
    )
    return of_days.join(scopes, "id").select(*SCOPE, "metric", "bucket", "jobs")
