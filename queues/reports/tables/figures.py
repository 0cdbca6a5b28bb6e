"""Figures of each queue, namespace, hour and day; exact percentiles, without sorting; histograms that add up over days.

The cells tell which bucket a percentile lies in, and how many values of the bucket come before it. A second pass over
the events then counts values only of the buckets that hold a percentile, and picks it there. Buckets are those of
`queues.lake.sketch`.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from queues.lake.sketch import EXACT_BELOW_MS
from queues.reports.tables.cells import bucket_of

from .cells import DAY, KEY, METRICS, SCOPE, at_all_levels, each_level, measured

PERCENTS: Final = (50, 90, 95, 99)

BROADCAST_ROWS: Final = 2_000_000
"""Up to so many wanted cells are sent to each executor (some 30 bytes each); beyond, events are shuffled to them."""

_BUCKET: Final = (*KEY, "what", "bucket")
_HASH: Final = f"xxhash64({', '.join(_BUCKET)}) AS hash"


def targets_of(cells: DataFrame) -> DataFrame:
    """(KEY, what, percent, bucket, nth): the percentile is the nth value, from 1, of this bucket."""
    values = cells.where("bucket IS NOT NULL")
    found = at_all_levels(values, f.sum("measured").alias("n"), by=("what", "bucket"))
    group = Window.partitionBy(*KEY, "what")
    upward = group.orderBy("bucket").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    counted = found.withColumns({"upto": f.sum("n").over(upward), "total": f.sum("n").over(group)})
    # Nearest rank: the least value that at least this share of the values does not exceed. In whole numbers.
    ranks = [f"struct({percent} AS percent, (total * {percent} + 99) DIV 100 AS rank)" for percent in PERCENTS]
    ranked = counted.selectExpr(
        *KEY, "what", "bucket", "upto - n AS before", "upto", f"inline(array({', '.join(ranks)}))"
    )
    here = ranked.where("before < rank AND rank <= upto")
    return here.selectExpr(*KEY, "what", "percent", "bucket", "rank - before AS nth")


def wanted_cells(cells: DataFrame, targets: DataFrame) -> DataFrame:
    """(hash) of the cells whose values have to be looked at one by one.

    A hash, for joins by one number are several times as fast. Two cells of the same hash do no harm: what is not a
    target's is dropped in the end.
    """
    wide = cells.where(f"bucket >= {EXACT_BELOW_MS}").selectExpr(*_BUCKET, _HASH)
    return each_level(wide).join(targets, [*_BUCKET], "left_semi").select("hash").distinct()


def percentiles_of(events: DataFrame, targets: DataFrame, wanted: DataFrame, *, few: bool) -> DataFrame:
    """(KEY, wait_p50, …) in ms. `wanted`: as `wanted_cells` says; `few`: no more than BROADCAST_ROWS."""
    valued = measured(events).where(f"ms >= {EXACT_BELOW_MS}").withColumn("bucket", bucket_of(f.col("ms")))
    looked_up = f.broadcast(wanted) if few else wanted
    near = valued.selectExpr(*_BUCKET, "ms", _HASH).join(looked_up, "hash", "left_semi")
    values = near.groupBy(*_BUCKET, "ms").agg(f.expr("count(*) AS n"))
    at_levels = each_level(values).groupBy(*_BUCKET, "ms").agg(f.expr("sum(n) AS n"))
    upward = Window.partitionBy(*_BUCKET).orderBy("ms").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    counted = at_levels.withColumn("upto", f.sum("n").over(upward))
    # A bucket below EXACT_BELOW_MS is one value, which nobody had to count.
    met = counted.join(targets, [*_BUCKET], "right").where(f"bucket < {EXACT_BELOW_MS} OR upto >= nth")
    percentiles = (
        f"min(IF(what = '{what}' AND percent = {percent}, IF(bucket < {EXACT_BELOW_MS}, bucket, ms), NULL))"
        f" AS {metric}_p{percent}"
        for metric, what in METRICS.items()
        for percent in PERCENTS
    )
    return met.groupBy(*KEY).agg(*map(f.expr, percentiles))


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
    few = cells.groupBy(*SCOPE, "hour", "what").agg(
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
    return every.groupBy(*SCOPE, f.expr(f"nullif(hour, {DAY}) AS hour")).agg(*figures)


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


def histograms_of(cells: DataFrame) -> DataFrame:
    """(scope, metric, bucket, jobs) of the day; `queue` "" for a namespace."""
    metric = " ".join(f"WHEN '{what}' THEN '{name}'" for name, what in METRICS.items())
    values = cells.where("bucket IS NOT NULL").selectExpr(
        "pool",
        "namespace",
        "explode(array(queue, '')) AS queue",
        f"CASE what {metric} END AS metric",
        "bucket",
        "measured",
    )
    return values.groupBy(*SCOPE, "metric", "bucket").agg(f.sum("measured").alias("jobs"))
