"""Figures of each queue, namespace, hour and day; exact percentiles; histograms that add up over days.

All of it is made of cells (`cells`), level by level: a queue's day and a namespace's hour of the queue's hours, a
namespace's day of the namespace's hours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from .cells import DAY, KEY, METRICS, SCOPE, bucket_of

PERCENTS: Final = (50, 90, 95, 99)

Summing = Callable[[DataFrame, Sequence[Column | str]], DataFrame]
"""Groups rows by these columns and sums up all others."""


def at_all_levels(of_queues: DataFrame, add_up: Summing, *by: str) -> DataFrame:
    """Rows of queues and hours, and those of the other three levels. `by`: more columns that groups have in common."""
    return reduce(DataFrame.unionByName, levels_of(of_queues, add_up, *by))


def levels_of(of_queues: DataFrame, add_up: Summing, *by: str) -> tuple[DataFrame, DataFrame, DataFrame, DataFrame]:
    """Of queues' hours, queues' days, namespaces' hours, namespaces' days."""
    day = f.lit(DAY).alias("hour")
    of_namespaces = add_up(of_queues, ("pool", "namespace", f.lit("").alias("queue"), "hour", *by))
    return (
        of_queues,
        add_up(of_queues, (*SCOPE, day, *by)),
        of_namespaces,
        add_up(of_namespaces, (*SCOPE, day, *by)),
    )


def measures_of(values: DataFrame) -> DataFrame:
    """(KEY, metric, bucket, jobs, sum_ms, max_ms, p50, …) at each level; the bucket is null for hours.

    A percentile is in the row of the bucket that it lies in, and null in others.
    """
    of_hours, of_days, of_namespaces, of_their_days = levels_of(values, _add_up_values, "metric", "ms")
    parts = [_measured(rows, f.lit(None).cast("int")) for rows in (of_hours, of_namespaces)]
    parts += [_measured(rows, bucket_of(f.col("ms"))) for rows in (of_days, of_their_days)]
    return reduce(DataFrame.unionByName, parts)


def _add_up_values(values: DataFrame, by: Sequence[Column | str]) -> DataFrame:
    return values.groupBy(*by).agg(f.sum("n").alias("n"))


def _measured(values: DataFrame, bucket: Column) -> DataFrame:
    group = Window.partitionBy(*KEY, "metric")
    upward = group.orderBy("ms").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    ranked = values.withColumns({"upto": f.sum("n").over(upward), "total": f.sum("n").over(group), "bucket": bucket})
    # Nearest rank: the least value that at least this share of the values does not exceed. In whole numbers.
    percentiles = [f"min(IF(upto * 100 >= total * {percent}, ms, NULL)) AS p{percent}" for percent in PERCENTS]
    others = ("sum(n) AS jobs", "sum(ms * n) AS sum_ms", "max(ms) AS max_ms")
    return ranked.groupBy(*KEY, "metric", "bucket").agg(*map(f.expr, (*others, *percentiles)))


def metrics_of(measures: DataFrame) -> DataFrame:
    """(KEY, wait_count, wait_sum, wait_max, wait_p50, …), times in ms."""
    parts = {"count": "sum(IF({here}, jobs, 0))", "sum": "sum(IF({here}, sum_ms, NULL))"}
    parts["max"] = "max(IF({here}, max_ms, NULL))"
    parts |= {f"p{percent}": f"min(IF({{here}}, p{percent}, NULL))" for percent in PERCENTS}
    columns = [
        how.format(here=f"metric = '{metric}'") + f" AS {metric}_{part}"
        for metric in METRICS
        for part, how in parts.items()
    ]
    means = [f"{metric}_sum / nullif({metric}_count, 0) AS {metric}_mean" for metric in METRICS]
    return measures.groupBy(*KEY).agg(*map(f.expr, columns)).selectExpr("*", *means)


def histograms_of(measures: DataFrame) -> DataFrame:
    """(scope, metric, bucket, jobs) of the day; `queue` "" for a namespace."""
    return measures.where(f"hour = {DAY}").select(*SCOPE, "metric", "bucket", "jobs")


KINDS: Final = (
    "published", "consumed", "acked", "failed", "lease_lost", "expired", "dead", "respawned", "released", "rescheduled",
)  # fmt: skip
COUNTS: Final = (
    "published", "consumed", "acked", "failed", "retried", "lease_lost", "expired", "dead", "respawned", "released",
    "deleted", "rescheduled", "duplicates", "bytes", "arrivals", "departures",
)  # fmt: skip
"""Figures that add up over hours, queues and days."""

PARTS: Final = ("count", "mean", *(f"p{percent}" for percent in PERCENTS), "max", "exact")
LISTED: Final = (
    *KEY,
    *COUNTS,
    *(f"{metric}_{part}" for metric in METRICS for part in PARTS),
    "success_rate",
    "backlog",
    "backlog_base_known",
    "first_at",
    "last_at",
)
"""The table's columns, in order."""

_SUMMED: Final = dict.fromkeys((*KINDS, "retried", "deleted", "bytes", "gone"), "sum") | {
    "first_at": "min",
    "last_at": "max",
}
"""How hours and queues are summed up, column by column."""


def sums_of(counts: DataFrame) -> DataFrame:
    """What can be counted, at each level."""
    kinds = [f"sum(IF(kind = '{kind}', events, 0)) AS {kind}" for kind in KINDS]
    others = (
        "sum(again) AS retried",
        "sum(IF(kind = 'deleted', events, 0)) + coalesce(sum(destroyed), 0) AS deleted",
        "coalesce(sum(bytes), 0) AS bytes",
        "coalesce(sum(gone), 0) AS gone",
        "min(first_at) AS first_at",
        "max(last_at) AS last_at",
    )
    of_queues = counts.groupBy(*KEY).agg(*map(f.expr, (*kinds, *others)))
    return at_all_levels(of_queues, _add_up_sums).selectExpr(
        "*",
        "published + respawned AS arrivals",
        "acked + expired + dead + gone AS departures",
        "acked / nullif(acked + dead + expired, 0) AS success_rate",
    )


def _add_up_sums(sums: DataFrame, by: Sequence[Column | str]) -> DataFrame:
    return sums.groupBy(*by).agg(*(f.expr(f"{how}({name}) AS {name}") for name, how in _SUMMED.items()))


def figures_of(sums: DataFrame, metrics: DataFrame, duplicates: DataFrame, backlog: DataFrame) -> DataFrame:
    """The table. `backlog` has a row of its own for each queue in which nothing happened, but jobs are left."""
    parts = (sums, metrics, duplicates, backlog)
    every = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    # Each column comes from one row of one part only; one grouping of all is cheaper than three joins.
    figures = (f.expr(f"{_figure(name)} AS {name}") for name in LISTED if name not in KEY)
    return every.groupBy(*SCOPE, f.expr(f"nullif(hour, {DAY}) AS hour")).agg(*figures)


def _figure(name: str) -> str:
    if name.endswith("_exact"):
        return "true"
    return f"coalesce(max({name}), 0)" if name in COUNTS or name.endswith("_count") else f"max({name})"
