"""What queues began the day with, and the backlog at the end of each hour."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from .cells import DAY, KEY, SCOPE


def begun_of(sums: DataFrame, before: DataFrame, anchored: DataFrame | None, *, known: bool) -> DataFrame:
    """(scope, told, was_known, anchored, least) of queues: what each began the day with, by each account of it.

    `told`: by the report of the day before, which `before` is: (scope, backlog, backlog_base_known). `known`: whether a
    queue that is not in it had none then. `anchored`: by Redis's own count; null where there is none. `least`: what it
    takes for no hour to end below zero.
    """
    least = _moved(sums).where("queue != ''").groupBy(*SCOPE).agg(f.expr("max(greatest(-moved, 0)) AS least"))
    begun = least.join(before, [*SCOPE], "full")
    begun = (
        begun.withColumn("anchored", f.lit(None).cast("long"))
        if anchored is None
        else begun.join(anchored, [*SCOPE], "full")
    )
    return begun.selectExpr(
        *SCOPE,
        "coalesce(backlog, 0) AS told",
        f"coalesce(backlog_base_known, {str(known).lower()}) AS was_known",
        "anchored",
        "coalesce(least, 0) AS least",
    )


DIFFERS: Final = "(was_known AND anchored != told) OR anchored < least"
"""Of a row of `begun_of`: Redis's own count and the events do not agree."""


def _moved(sums: DataFrame) -> DataFrame:
    """(KEY, moved): arrivals less departures up to the end of the hour, or of the day."""
    hourly = f"PARTITION BY {', '.join(SCOPE)}, hour = {DAY} ORDER BY hour ROWS UNBOUNDED PRECEDING"
    return sums.selectExpr(*KEY, f"sum(arrivals - departures) OVER ({hourly}) AS moved")


def backlog_of(sums: DataFrame, begun: DataFrame, *, pools_with_gaps: Collection[str] = ()) -> DataFrame:
    """(KEY, backlog, backlog_base_known) at each level.

    `begun`: as `begun_of` makes it; Redis's own count comes before the report of the day before. `pools_with_gaps`:
    pools that lack events of the day; it is not known of which queue, so no base of theirs counts as known.
    A day cannot begin with fewer jobs than it takes for none of its hours to end below zero. So that is what it begins
    with where nobody knows, or where more has gone than events tell of; its base then counts as not known. But where
    Redis counted, the hours since then and the day end with what it says; those before end with 0 rather than less.
    """
    moved = _moved(sums)
    begun = begun.withColumns(
        {
            "base": f.expr("coalesce(anchored, greatest(told, least))"),
            "known": f.expr("(anchored IS NOT NULL OR was_known) AND least <= coalesce(anchored, told)"),
        }
    )
    is_known = f.col("known") & ~f.col("pool").isin(*pools_with_gaps)
    namespace_and_queue = f.explode(f.array("queue", f.lit(""))).alias("queue")
    bases = (
        begun.select("pool", "namespace", namespace_and_queue, "base", is_known.alias("known"))
        .groupBy(*SCOPE)
        .agg(f.expr("sum(base) AS base"), f.expr("min(known) AS backlog_base_known"))
    )
    # A queue of which nothing is left and nothing was heard is not told of.
    told_of = moved.join(bases, [*SCOPE], "right").where("moved IS NOT NULL OR base != 0")
    return told_of.selectExpr(
        *SCOPE,
        f"coalesce(hour, {DAY}) AS hour",
        "greatest(base + coalesce(moved, 0), 0) AS backlog",
        "backlog_base_known",
    )
