"""Events counted by queue and hour. All tables of a day come from these three, which add up over hours.

`counts_of`: how many of each kind. `values_of`: how often each time was measured, so that what is merged is exact. What
has job ids is in `single_events`. Buckets are those of `queues.lake.sketch`, as expressions of Spark.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from queues.lake.sketch import EXACT_BELOW_MS, LAST, PER_DOUBLING

VERSION: Final = 1
"""Of what cells mean. To be raised with every change of this, so that hours are reduced again."""

SCOPE: Final = ("pool", "namespace", "queue")
KEY: Final = (*SCOPE, "hour")
"""A scope at a level. `queue` "": the namespace. `hour` DAY: the whole day."""

DAY: Final = -1
"""Never null inside, so that keys are equal to themselves."""

METRICS: Final = {"wait": "consumed", "run": "acked", "total": "acked", "lateness": "ready"}
"""What is measured, and the kind of event that carries it; an ack carries two."""

MEASURED: Final = tuple(dict.fromkeys(METRICS.values()))
"""The kinds of events that are measured."""

LISTED: Final = ("wait", "run")
"""Metrics of which the longest times of a queue are listed, with their jobs."""

TOP: Final = 10
"""How many of them."""

ARRIVALS: Final = ("published", "respawned")
DEPARTURES: Final = ("acked", "expired", "dead")
"""Kinds of events that each bring a queue a live job, or take one; others that take jobs are in `_GONE`."""

_GONE: Final = "CASE WHEN kind = 'deleted' AND error IS NULL THEN 1 WHEN kind = 'destroyed' THEN attempt END"

CHANGE: Final = f"CASE WHEN kind IN {ARRIVALS} THEN 1 WHEN kind IN {DEPARTURES} THEN -1 ELSE -({_GONE}) END"
"""What an event does to the number of a queue's live jobs; null: nothing. `figures.sums_of` adds it up of cells."""

_AGGREGATES: Final = {
    "n": "count(*)",
    "size": "sum(size)",
    "first_at": "min(at)",
    "last_at": "max(at)",
    "demo": "max(demo)",
}

_GONE_OF_GROUP: Final = "CASE WHEN kind = 'deleted' AND no_error THEN n WHEN kind = 'destroyed' THEN n * attempt END"

COUNTED: Final = {
    "events": "n",
    "again": "IF(kind = 'consumed' AND attempt > 1, n, 0)",
    "bytes": "IF(kind = 'published', size, NULL)",
    "gone": _GONE_OF_GROUP,
    "destroyed": "IF(kind = 'destroyed', size, NULL)",
    "first_at": "first_at",
    "last_at": "last_at",
    "demo": "demo",
}
"""Deliveries that were `again`, `bytes` of bodies, live jobs that a deletion took (`gone`), jobs `destroyed`."""


def counts_of(events: DataFrame) -> DataFrame:
    """(KEY, kind, ended_by, COUNTED): `ended_by` is the attempt of what is acked or dead, else null. There may be
    several rows of a (KEY, kind, ended_by), to be added up.

    Events are grouped by columns as they are, and what the groups mean is worked out afterwards: conditions that look
    at each event's kind took half of the time.
    """
    by = (*KEY, "kind", "attempt", f.expr("error IS NULL AS no_error"))
    groups = events.groupBy(*by).agg(*(f.expr(f"{how} AS {name}") for name, how in _AGGREGATES.items()))
    ended_by = "IF(kind IN ('acked', 'dead'), attempt, NULL) AS ended_by"
    return groups.selectExpr(*KEY, "kind", ended_by, *(f"{how} AS {name}" for name, how in COUNTED.items()))


def values_of(events: DataFrame, *, add_up: bool = True) -> DataFrame:
    """(KEY, metric, ms, n): n events took ms; 0 for what is negative because a clock was set back.

    Not `add_up`: a row for each event, which takes a fifth of the time where hardly any two are equal.
    """
    times = {"wait": "wait_ms", "lateness": "wait_ms", "run": "run_ms"}
    times["total"] = "unix_millis(at) - unix_millis(published)"
    told = {metric: f"struct('{metric}' AS metric, IF({ms} < 0, 0, {ms}) AS ms)" for metric, ms in times.items()}
    of_kind = [
        f"WHEN '{kind}' THEN array({', '.join(told[metric] for metric in METRICS if METRICS[metric] == kind)})"
        for kind in MEASURED
    ]
    each = events.where(f.col("kind").isin(*MEASURED)).selectExpr(*KEY, f"inline(CASE kind {' '.join(of_kind)} END)")
    told_of = each.where("ms IS NOT NULL")
    if not add_up:
        return told_of.withColumn("n", f.lit(1).cast("long"))
    return told_of.groupBy(*KEY, "metric", "ms").agg(f.expr("count(*) AS n"))


def bucket_of(ms: str) -> str:
    """An expression: the bucket of a time ≥ 0 (int); null of null. `ms`: a column's name."""
    # Spark has no function for the length of a number in bits. Half a millisecond keeps logarithms clear of whole
    # numbers: at 2^42 by 2e-13, ten times what a double may be off there. Longer times fall into the last bucket.
    shift = f"(CAST(floor(log2({ms} + 0.5D)) AS int) - {EXACT_BELOW_MS.bit_length() - 2})"
    wide = f"least({shift} * {PER_DOUBLING} + shiftright({ms}, {shift}), {LAST})"
    return f"CAST(CASE WHEN {ms} < {EXACT_BELOW_MS} THEN {ms} WHEN {ms} IS NOT NULL THEN {wide} END AS int)"
