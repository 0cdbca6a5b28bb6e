"""Figures of each queue, namespace, hour and day."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from .cells import ARRIVALS, DAY, DEPARTURES, KEY, METRICS, SCOPE
from .times import PERCENTS

_LEVELS: Final = (KEY, ("pool", "namespace", "hour"), SCOPE, ("pool", "namespace"))


def at_all_levels(of_queues: DataFrame, aggregates: Mapping[str, str]) -> DataFrame:
    """(KEY, aggregates): rows of queues and hours added up to those of namespaces and of days. `aggregates`: by column,
    such as "sum".

    One grouping for all levels: Spark would plan, and make code for, four of them as long as it plans the rest.
    """
    added = (f.expr(f"{how}({name}) AS {name}") for name, how in aggregates.items())
    levels = of_queues.groupingSets([[f.col(name) for name in level] for level in _LEVELS], *KEY).agg(*added)
    return levels.withColumns({"queue": f.expr("coalesce(queue, '')"), "hour": f.expr(f"coalesce(hour, {DAY})")})


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
    return at_all_levels(of_queues, _SUMMED).selectExpr(
        "*",
        f"{' + '.join(ARRIVALS)} AS arrivals",
        f"{' + '.join((*DEPARTURES, 'gone'))} AS departures",
        "acked / nullif(acked + dead + expired, 0) AS success_rate",
    )


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
