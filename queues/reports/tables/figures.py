"""What is said of each queue, namespace, hour and day in numbers."""

from __future__ import annotations

from functools import reduce
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from .cells import METRICS, PLACE
from .levels import DAY, KEY, at_all_levels
from .percentiles import PERCENTS

KINDS: Final = (
    "published", "consumed", "acked", "failed", "lease_lost", "expired", "dead", "respawned", "released", "rescheduled",
)  # fmt: skip
COUNTS: Final = (
    "published", "consumed", "acked", "failed", "retried", "lease_lost", "expired", "dead", "respawned", "released",
    "deleted", "rescheduled", "duplicates", "bytes", "arrivals", "departures",
)  # fmt: skip
"""Figures that add up over hours, queues and days."""

MEASURED: Final = ("count", "mean", *(f"p{percent}" for percent in PERCENTS), "max", "exact")
LISTED: Final = (
    *KEY,
    *COUNTS,
    *(f"{metric}_{part}" for metric in METRICS for part in MEASURED),
    "success_rate",
    "backlog",
    "backlog_base_known",
    "first_at",
    "last_at",
)
"""The table's columns, in order."""

_SUMMED: Final = dict.fromkeys(("events", "measured", "sum_ms", "again", "bytes", "gone", "destroyed"), "sum") | {
    "max_ms": "max",
    "first_at": "min",
    "last_at": "max",
}
"""How cells are summed up, column by column."""


def sums_of(cells: DataFrame) -> DataFrame:
    """All but percentiles, duplicates and backlog, at each level."""
    # Buckets and attempts are summed up first: the many columns that follow are then computed of few rows.
    few = cells.groupBy(*PLACE, "hour", "what").agg(
        *(f.expr(f"{how}({name}) AS {name}") for name, how in _SUMMED.items())
    )
    values = [
        *(f"{_events(kind)} AS {kind}" for kind in KINDS),
        *_OTHERS,
        *(one for m in METRICS for one in _measures(m)),
    ]
    return at_all_levels(few, *map(f.expr, values)).selectExpr(
        "*",
        "published + respawned AS arrivals",
        "acked + expired + dead + gone AS departures",
        "acked / nullif(acked + dead + expired, 0) AS success_rate",
        *(f"{metric}_sum / nullif({metric}_count, 0) AS {metric}_mean" for metric in METRICS),
    )


def figures_of(sums: DataFrame, percentiles: DataFrame, duplicates: DataFrame, backlog: DataFrame) -> DataFrame:
    """The table. `backlog` has a row of its own for each queue in which nothing happened, but jobs are left."""
    parts = (sums, percentiles, duplicates, backlog)
    every = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    # Each column comes from one row of one part only; one grouping of all is cheaper than three joins.
    figures = (f.expr(f"{_figure(name)} AS {name}") for name in LISTED if name not in KEY)
    return every.groupBy(*PLACE, f.expr(f"nullif(hour, {DAY}) AS hour")).agg(*figures)


def _figure(name: str) -> str:
    if name.endswith("_exact"):
        return "true"
    return f"coalesce(max({name}), 0)" if name in COUNTS or name.endswith("_count") else f"max({name})"


def _events(kind: str) -> str:
    return f"sum(IF(what = '{kind}', events, 0))"


def _measures(metric: str) -> tuple[str, ...]:
    here = f"what = '{METRICS[metric]}'"
    return (
        f"sum(IF({here}, measured, 0)) AS {metric}_count",
        f"sum(IF({here}, sum_ms, NULL)) AS {metric}_sum",
        f"max(IF({here}, max_ms, NULL)) AS {metric}_max",
    )


_OTHERS: Final = (
    "sum(again) AS retried",
    f"{_events('deleted')} + coalesce(sum(destroyed), 0) AS deleted",
    "coalesce(sum(bytes), 0) AS bytes",
    "coalesce(sum(gone), 0) AS gone",
    "min(first_at) AS first_at",
    "max(last_at) AS last_at",
)
