"""How many jobs are left at the end of each hour, from what came and went."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from .cells import PLACE
from .levels import DAY, KEY


def backlog_of(sums: DataFrame, before: DataFrame, *, known: bool, pools_with_gaps: Collection[str] = ()) -> DataFrame:
    """(KEY, backlog, backlog_base_known) at each level.

    `before`: (place, backlog, backlog_base_known) of queues at the end of the day before. `known`: whether a queue that
    is not in it had none then; otherwise nobody knows. `pools_with_gaps`: pools that lack events of the day; it is not
    known of which queue, so no base of theirs counts as known.
    A day cannot begin with fewer jobs than it takes for none of its hours to end below zero. So that is what it begins
    with where nobody knows, or where more has gone than events tell of; its base then counts as not known.
    """
    net = "sum(arrivals - departures)"
    hourly = f"PARTITION BY {', '.join(PLACE)}, hour = {DAY} ORDER BY hour ROWS UNBOUNDED PRECEDING"
    moved = sums.selectExpr(*KEY, f"{net} OVER ({hourly}) AS moved")
    least = moved.where("queue != ''").groupBy(*PLACE).agg(f.expr("max(greatest(-moved, 0)) AS least"))
    begun = least.join(before, [*PLACE], "full").selectExpr(
        *PLACE, "coalesce(backlog, 0) AS told", "coalesce(least, 0) AS least", "backlog_base_known AS was_known"
    )
    is_known = f.coalesce("was_known", f.lit(known)) & f.expr("least <= told") & ~f.col("pool").isin(*pools_with_gaps)
    namespace_and_queue = f.explode(f.array("queue", f.lit(""))).alias("queue")
    bases = (
        begun.select(
            "pool", "namespace", namespace_and_queue, f.greatest("told", "least").alias("base"), is_known.alias("known")
        )
        .groupBy(*PLACE)
        .agg(f.expr("sum(base) AS base"), f.expr("min(known) AS backlog_base_known"))
    )
    # A queue of which nothing is left and nothing was heard is not told of.
    told_of = moved.join(bases, [*PLACE], "right").where("moved IS NOT NULL OR base != 0")
    return told_of.selectExpr(
        *PLACE, f"coalesce(hour, {DAY}) AS hour", "base + coalesce(moved, 0) AS backlog", "backlog_base_known"
    )
