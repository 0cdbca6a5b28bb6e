"""The few events that are looked at one by one, with their jobs' ids."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from .cells import PLACE


def notable_of(events: DataFrame, limits: DataFrame) -> DataFrame:
    """Failures, deaths, lost leases, deliveries after the first; and what took as long as `slow.limits_of` says.

    With `ms`: what a delivery waited or an acked one ran, if that was so long; else null.
    """
    kind = f.col("kind")
    again = (kind == "consumed") & (f.col("attempt") > 1)
    told = kind.isin("failed", "dead", "lease_lost") | again
    waited = f.when((kind == "consumed") & (f.col("wait_ms") >= f.col("wait_from")), f.col("wait_ms"))
    ran = f.when((kind == "acked") & (f.col("run_ms") >= f.col("run_from")), f.col("run_ms"))
    columns = (*PLACE, "hour", "kind", "job", "attempt", "at", "worker", "error")
    limited = events.join(f.broadcast(limits), [*PLACE], "left").select(*columns, f.coalesce(waited, ran).alias("ms"))
    return limited.where(told | f.col("ms").isNotNull())


def lost_leases_of(events: DataFrame) -> DataFrame:
    """(place, job, attempt) of each delivery whose lease ran out, as often as there is an event of it."""
    return events.where(f.col("kind") == "lease_lost").select(*PLACE, "job", "attempt")
