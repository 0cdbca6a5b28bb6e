"""Figures of each queue, namespace, hour and day, level by level.

A queue's day and a namespace's hour are made of the queue's hours, a namespace's day of the namespace's hours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from .cells import ARRIVALS, DAY, DEPARTURES, KEY, METRICS, SCOPE
from .times import PERCENTS

Summing = Callable[[DataFrame, Sequence[Column | str]], DataFrame]
"""Groups rows by these columns and sums up all others."""


def at_all_levels(of_queues: DataFrame, add_up: Summing) -> DataFrame:
    """Rows of queues and hours, and those of the other three levels."""
    of_namespaces = add_up(of_queues, ("pool", "namespace", f.lit("").alias("queue"), "hour"))
    of_days = [add_up(rows, (*SCOPE, f.lit(DAY).alias("hour"))) for rows in (of_queues, of_namespaces)]
    return reduce(DataFrame.unionByName, (of_queues, of_namespaces, *of_days))


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
        f"{' + '.join(ARRIVALS)} AS arrivals",
        f"{' + '.join((*DEPARTURES, 'gone'))} AS departures",
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
    rows = every.groupBy(*SCOPE, f.expr(f"nullif(hour, {DAY}) AS hour")).agg(*figures)
    return rows.withColumn("time_zone", f.lit(None).cast("string"))  # UTC


def _figure(name: str) -> str:
    if name.endswith("_exact"):
        return "true"
    return f"coalesce(max({name}), 0)" if name in COUNTS or name.endswith("_count") else f"max({name})"
