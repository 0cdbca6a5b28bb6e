"""Figures of the day beside others: the backlog at the end of each hour, and the same weekday of past weeks."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from pyspark.sql import Column, DataFrame
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


COUNTED: Final = ("published", "acked", "failed", "dead")
FIGURES: Final = (*COUNTED, "success_rate", "wait_p95", "run_p95")

WEEKS: Final = 8
"""So many weeks back, as far as there are reports."""

LEAST_WEEKS: Final = 3
"""With fewer, nothing is out of line."""

SPREADS: Final = 3.0
SCALE: Final = 1.4826
"""`spread` is the median distance from the median, times this: the standard deviation, were values normally spread."""

PART: Final = 0.2
"""What is within a fifth of the usual is in line, however steady the past was; not so for rates."""

LEAST: Final = {"success_rate": 0.02, "wait_p95": 100.0, "run_p95": 100.0}
"""Smaller distances are in line: two points of a rate, 100 ms. Of counts: 10 jobs."""

LEAST_JOBS: Final = 10.0


def changes_of(today: DataFrame, past: DataFrame, *, complete: bool) -> DataFrame:
    """(scope, figure, value, usual, spread, weeks, flagged) of queues and namespaces that were there in past weeks.

    `today`, `past`: figures of days (without hours), of `past` also `week`. `complete`: whether the day is over; before
    that nothing is flagged. A scope that was there in past weeks and is not today has counts of 0.
    """
    usual = f"median(value) OVER (PARTITION BY {', '.join(SCOPE)}, figure) AS usual"
    apart = _long(past).where("value IS NOT NULL").selectExpr("*", usual).groupBy(*SCOPE, "figure", "usual")
    spread = f.expr("median(abs(value - usual))") * SCALE
    weeks = f.expr("CAST(count(*) AS int) AS weeks")
    joined = apart.agg(spread.alias("spread"), weeks).join(_long(today), [*SCOPE, "figure"], "left")
    counted = f.col("figure").isin(*COUNTED)
    value = f.coalesce("value", f.when(counted, f.lit(0.0)))
    told = joined.withColumn("value", value)
    flagged = f.lit(complete) & (f.col("weeks") >= LEAST_WEEKS) & f.coalesce(_is_far(), f.lit(False))
    columns = [*SCOPE, "figure", "value", "usual", "spread", "weeks"]
    return told.select(*columns, flagged.alias("flagged"))


def _is_far() -> Column:
    figure, usual = f.col("figure"), f.col("usual")
    least = f.lit(LEAST_JOBS)
    for name, distance in LEAST.items():
        least = f.when(figure == name, distance).otherwise(least)
    part = f.when(figure == "success_rate", 0.0).otherwise(usual * PART)
    return f.abs(f.col("value") - usual) > f.greatest(f.col("spread") * SPREADS, part, least)


def _long(figures: DataFrame) -> DataFrame:
    """(scope, figure, value): a row for each of FIGURES."""
    pairs = [f"struct('{name}' AS figure, CAST({name} AS double) AS value)" for name in FIGURES]
    return figures.selectExpr(*SCOPE, f"inline(array({', '.join(pairs)}))")
