"""The day in one pass: events counted by queue, hour, kind and bucket. All but a few tables come from these cells.

There are four levels: queues and namespaces, hours and the day. Buckets are those of `queues.lake.sketch`, as
expressions of Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from queues.lake.sketch import EXACT_BELOW_MS, LAST, PER_DOUBLING
from queues.reports.events import SCHEMA

KEY: Final = ("pool", "namespace", "queue", "hour")
"""A scope at a level. `queue` "": the namespace. `hour` DAY: the whole day."""

DAY: Final = -1
"""Never null inside, so that keys are equal to themselves."""


def at_all_levels(rows: DataFrame, *values: Column, by: Sequence[str] = ()) -> DataFrame:
    """`values` aggregated at each level; `by`: more columns that groups have in common."""
    return each_level(rows).groupBy(*KEY, *by).agg(*values)


def each_level(rows: DataFrame) -> DataFrame:
    """Each row four times, with the KEY of each level."""
    levels = [f"struct({queue} AS queue, {hour} AS hour)" for queue in ("queue", "''") for hour in ("hour", DAY)]
    others = [name for name in rows.columns if name not in ("queue", "hour")]
    return rows.selectExpr(*others, f"inline(array({', '.join(levels)}))")


SCOPE: Final = ("pool", "namespace", "queue")
METRICS: Final = {"wait": "consumed", "run": "acked", "total": "total", "lateness": "ready"}
"""What is measured, and what cells call it: the kind of event that carries it; an ack carries two."""

CELL: Final = (*SCOPE, "hour", "what", "attempt", "bucket")


def measured(events: DataFrame, *others: str) -> DataFrame:
    """(scope, hour, what, ms, others) of each event, and a second row `total` of each ack, with its end-to-end time.

    `what`: the kind. `ms`: null where nothing is measured; 0 for what is negative because a clock was set back. Of a
    second row, the others are null.
    """
    first = "CASE WHEN kind IN ('consumed', 'ready') THEN wait_ms WHEN kind = 'acked' THEN run_ms END"
    total = "unix_millis(at) - unix_millis(published)"
    nothing = [f"CAST(NULL AS {SCHEMA[name].dataType.simpleString()}) AS {name}" for name in others]
    row, second = _row("kind", first, others), _row("'total'", total, nothing)
    rows = f"IF(kind = 'acked', array({row}, {second}), array({row}))"
    return events.selectExpr(*SCOPE, "hour", f"inline({rows})")


def cells_of(events: DataFrame) -> DataFrame:
    """One row for each CELL. `attempt` is known of acked and dead only, else null; so is `bucket` of what is measured.

    Then: events, `measured` values with their sum and greatest, deliveries that were `again`, `bytes` of bodies, live
    jobs that a deletion took (`gone`), jobs `destroyed`, first_at, last_at, demo.
    """
    rows = measured(events, "attempt", "size", "error", "at", "demo")
    tries = f.expr("IF(what IN ('acked', 'dead'), attempt, NULL) AS attempt")
    aggregates = (
        "count(*) AS events",
        "count(ms) AS measured",
        "sum(ms) AS sum_ms",
        "max(ms) AS max_ms",
        "count(IF(what = 'consumed' AND attempt > 1, 1, NULL)) AS again",
        "sum(IF(what = 'published', size, NULL)) AS bytes",
        "sum(CASE WHEN what = 'deleted' AND error IS NULL THEN 1 WHEN what = 'destroyed' THEN attempt END) AS gone",
        "sum(IF(what = 'destroyed', size, NULL)) AS destroyed",
        "min(at) AS first_at",
        "max(at) AS last_at",
        "max(demo) AS demo",
    )
    by = (*SCOPE, "hour", "what", tries, bucket_of(f.col("ms")).alias("bucket"))
    return rows.groupBy(*by).agg(*map(f.expr, aggregates))


def _row(what: str, ms: str, others: Iterable[str]) -> str:
    return f"struct({', '.join((f'{what} AS what', f'IF({ms} < 0, 0, {ms}) AS ms', *others))})"


def bucket_of(ms: Column) -> Column:
    """The bucket of a time ≥ 0 (int); null of null."""
    # Spark has no function for the length of a number in bits. Half a millisecond keeps logarithms clear of whole
    # numbers: at 2^42 by 2e-13, ten times what a double may be off there. Longer times fall into the last bucket.
    shift = f.floor(f.log2(ms + f.lit(0.5))).cast("int") - (EXACT_BELOW_MS.bit_length() - 2)
    wide = f.least(shift * PER_DOUBLING + f.call_function("shiftright", ms, shift), f.lit(LAST))
    return f.when(ms < EXACT_BELOW_MS, ms).when(ms.isNotNull(), wide).cast("int")  # `least` passes over nulls


def least_of(bucket: Column) -> Column:
    """The least time of a bucket, in ms."""
    shift = f.floor(bucket / PER_DOUBLING).cast("int") - 1
    above = f.call_function("shiftleft", (bucket - shift * PER_DOUBLING).cast("long"), shift)
    return f.when(bucket < EXACT_BELOW_MS, bucket.cast("long")).otherwise(above)
