"""The few events that are looked at one by one, with their jobs' ids."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from .cells import PLACE

COLUMNS = (*PLACE, "hour", "kind", "job", "attempt", "at", "error")


def notable_of(events: DataFrame) -> DataFrame:
    """Failures, deaths, lost leases, and hand-outs after the first."""
    kind = f.col("kind")
    again = (kind == "consumed") & (f.col("attempt") > 1)
    return events.where(kind.isin("failed", "dead", "lease_lost") | again).select(*COLUMNS)


def lost_leases_of(events: DataFrame) -> DataFrame:
    """(place, job, attempt) of each hand-out whose lease ran out."""
    return events.where(f.col("kind") == "lease_lost").select(*PLACE, "job", "attempt").distinct()
