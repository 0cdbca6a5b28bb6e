"""Tables of single jobs: those that waited or ran longest, how many deliveries jobs took, possible duplicates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from .cells import KEY, LISTED, METRICS, SCOPE, TOP
from .figures import at_all_levels

NOTABLE: Final = ("consumed", "acked", "failed", "dead", "lease_lost")
"""Kinds of events of which some are told of."""

FAILURES: Final = ("failed", "dead", "lease_lost")
"""Those of which all are."""


def notable_of(events: DataFrame, limits: DataFrame, *, least: Mapping[str, int | None] | None = None) -> DataFrame:
    """Failures, deaths, lost leases, deliveries after the first; and what took as long as `limits_of` says.

    With `ms`: what a delivery waited or an acked one ran, if that was so long; else null. `least`: what
    `least_of(limits)` says, with which most events are passed over before their queue's limit is looked up.
    """
    kind = f.col("kind")
    again = (kind == "consumed") & (f.col("attempt") > 1)
    told = kind.isin(*FAILURES) | again
    waited = f.when((kind == "consumed") & (f.col("wait_ms") >= f.col("wait_from")), f.col("wait_ms"))
    ran = f.when((kind == "acked") & (f.col("run_ms") >= f.col("run_from")), f.col("run_ms"))
    columns = (*SCOPE, "hour", "kind", "job", "attempt", "at", "worker", "error")
    # Most of an event is its job id: of other kinds it is not read from compacted files, which are sorted by kind.
    candidates = events.where(kind.isin(*NOTABLE))
    if least is not None:
        long = (f"kind = '{METRICS[one]}' AND {one}_ms >= {ms}" for one, ms in least.items() if ms is not None)
        candidates = candidates.where(reduce(or_, map(f.expr, long), told))
    limited = candidates.join(f.broadcast(limits), [*SCOPE], "left").select(
        *columns, f.coalesce(waited, ran).alias("ms")
    )
    return limited.where(told | f.col("ms").isNotNull())


def lost_leases_of(events: DataFrame) -> DataFrame:
    """(scope, job, attempt) of each delivery whose lease ran out, as often as there is an event of it."""
    return events.where(f.col("kind") == "lease_lost").select(*SCOPE, "job", "attempt")


def limits_of(values: DataFrame, *by: str, are_many: bool = False) -> DataFrame:
    """(by, scope, wait_from, run_from): no time below these is among the queue's longest. Null: there are none at all.

    What took 0 ms is not among the longest, however few others there are: it may be all jobs of a queue. `are_many`:
    most are passed over first by the longest of each hour. `max_by` sorts all that it sees by their names.
    """
    longer = values.where(f.col("metric").isin(*LISTED) & (f.col("ms") > 0))
    if are_many:
        of_queue = [*by, *SCOPE, "metric"]
        longest = longer.groupBy(*of_queue, "hour").agg(f.max("ms").alias("ms"))
        floors = longest.groupBy(*of_queue).agg(f.expr(f"get(sort_array(collect_list(ms), false), {TOP - 1}) AS floor"))
        longer = longer.join(f.broadcast(floors), of_queue).where("ms >= coalesce(floor, 0)").drop("floor")
    top = f"max_by(struct(ms, n), ms, {TOP})"  # the greatest first
    seen = "merged.seen + one.n"
    step = f"IF(merged.seen >= {TOP}, merged, struct({seen} AS seen, IF({seen} >= {TOP}, one.ms, 1L) AS least))"
    # Of fewer events than that, all that took any time may be among them.
    limit = f"aggregate({top}, struct(0L AS seen, 1L AS least), (merged, one) -> {step}).least"
    of_metrics = longer.groupBy(*by, *SCOPE, "metric").agg(f.expr(f"{limit} AS least"))
    kept = [f.min(f.when(f.col("metric") == metric, f.col("least"))).alias(f"{metric}_from") for metric in LISTED]
    return of_metrics.groupBy(*by, *SCOPE).agg(*kept)


def least_of(limits: DataFrame) -> dict[str, int | None]:
    """The least of all queues' limits, by metric; None: no queue has any."""
    (found,) = limits.agg(*(f.min(f"{metric}_from").alias(metric) for metric in LISTED)).collect()
    return found.asDict()


def slow_of(notable: DataFrame) -> DataFrame:
    """(scope, metric, rank, job, attempt, ms, at, worker): the longest of each queue; of equals the earlier first."""
    long = notable.where(f.col("ms").isNotNull())
    metric = f.when(f.col("kind") == METRICS["wait"], "wait").otherwise("run")
    order = f.struct("ms", -f.unix_millis("at"), "job", "attempt")
    row = f.struct("ms", "at", "job", "attempt", "worker")
    # Kept down to TOP as they come, not sorted: where jobs take equally long, very many may be above the limit.
    top = long.groupBy(*SCOPE, metric.alias("metric")).agg(f.max_by(row, order, TOP).alias("top"))
    ranked = top.select(*SCOPE, "metric", f.posexplode("top").alias("rank", "row"))
    columns = [f.col(f"row.{name}").alias(name) for name in ("job", "attempt", "ms", "at", "worker")]
    return ranked.select(*SCOPE, "metric", (f.col("rank") + 1).alias("rank"), *columns)


def tries_of(counts: DataFrame) -> DataFrame:
    """(scope, attempt, outcome, jobs) of each queue; `outcome` acked or dead."""
    ended = counts.where("kind IN ('acked', 'dead') AND ended_by IS NOT NULL")
    by = (*SCOPE, f.col("ended_by").alias("attempt"), f.col("kind").alias("outcome"))
    return ended.groupBy(*by).agg(f.sum("events").alias("jobs"))


def duplicates_of(notable: DataFrame, lost: DataFrame) -> DataFrame:
    """(KEY, duplicates): deliveries whose attempt before ended in a lost lease. `lost`: also the day before's."""
    again = notable.where((f.col("kind") == "consumed") & (f.col("attempt") > 1))
    before = lost.withColumn("attempt", f.col("attempt") + 1)
    twice = again.join(before, [*SCOPE, "job", "attempt"], "left_semi")
    of_queues = twice.groupBy(*KEY).agg(f.count(f.lit(1)).alias("duplicates"))
    return at_all_levels(of_queues, {"duplicates": "sum"})
