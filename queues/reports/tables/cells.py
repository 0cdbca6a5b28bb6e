"""The day in one pass: events counted by queue, hour, kind and bucket. All but a few tables come from these cells."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from queues.reports.buckets import bucket_of

PLACE: Final = ("pool", "namespace", "queue")
METRICS: Final = {"wait": "consumed", "run": "acked", "total": "total", "lateness": "ready"}
"""What is measured, and what cells call it: the kind of event that carries it; an ack carries two."""

CELL: Final = (*PLACE, "hour", "what", "attempt", "bucket")


def measured(events: DataFrame, *others: str) -> DataFrame:
    """(place, hour, what, ms, others) of each event, and a second row `total` of each ack, with its end-to-end time.

    `what`: the kind. `ms`: null where nothing is measured; 0 for what is negative because a clock was set back. Of a
    second row, the others are null.
    """
    kind = f.col("kind")
    first = f.when(kind.isin("consumed", "ready"), f.col("wait_ms")).when(kind == "acked", f.col("run_ms"))
    total = f.unix_millis("at") - f.unix_millis("published")
    row = _row(kind, first, *map(f.col, others))
    nothing = [f.lit(None).cast(events.schema[name].dataType) for name in others]
    rows = f.when(kind == "acked", f.array(row, _row(f.lit("total"), total, *nothing))).otherwise(f.array(row))
    exploded = events.select(*PLACE, "hour", f.explode(rows).alias("row"))
    names = ("what", "ms", *others)
    return exploded.select(*PLACE, "hour", *(f.col(f"row.{number}").alias(name) for number, name in enumerate(names)))


def cells_of(events: DataFrame) -> DataFrame:
    """One row for each CELL. `attempt` is known of acked and dead only, else null; so is `bucket` of what is measured.

    Then: events, `measured` values with their sum and greatest, hand-outs that were `again`, `bytes` of bodies, live
    jobs that a deletion took (`gone`), jobs `destroyed`, first_at, last_at, demo.
    """
    what, ms = f.col("what"), f.col("ms")
    rows = measured(events, "attempt", "size", "error", "at", "demo")
    tries = f.when(what.isin("acked", "dead"), f.col("attempt")).alias("attempt")
    return rows.groupBy(*PLACE, "hour", "what", tries, bucket_of(ms).alias("bucket")).agg(
        f.count(f.lit(1)).alias("events"),
        f.count(ms).alias("measured"),
        f.sum(ms).alias("sum_ms"),
        f.max(ms).alias("max_ms"),
        f.count(f.when((what == "consumed") & (f.col("attempt") > 1), 1)).alias("again"),
        f.sum(f.when(what == "published", f.col("size"))).alias("bytes"),
        f.sum(
            f.when((what == "deleted") & f.col("error").isNull(), 1).when(what == "destroyed", f.col("attempt"))
        ).alias("gone"),
        f.sum(f.when(what == "destroyed", f.col("size"))).alias("destroyed"),
        f.min("at").alias("first_at"),
        f.max("at").alias("last_at"),
        f.max("demo").alias("demo"),
    )


def _row(what: Column, ms: Column, *others: Column) -> Column:
    columns = (what, f.when(ms < 0, 0).otherwise(ms), *others)
    return f.struct(*(column.alias(str(number)) for number, column in enumerate(columns)))
