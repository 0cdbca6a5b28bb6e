"""What a report's warnings say: files left out, events dropped, backlogs that differ from Redis's own counts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from queues.lake.files import DamagedFile

from .tables.cells import SCOPE
from .tables.comparisons import DIFFERS

DIFFERENCES_SHOWN: Final = 5
"""Queues that are named of those whose events and counts do not agree."""


def damage_text(file: DamagedFile) -> str:
    """Of a file that was left out."""
    events = "an unknown number of events" if file.rows is None else f"{file.rows:,} events"
    also = "" if file.rows == 0 else f", and with it {events}"
    return f"{file.url} was left out{also}: {file.reason}"


def differences_in(begun: DataFrame) -> str:
    """Where Redis's own count and the events do not agree, the greatest differences first; "" if they do."""
    columns = (*SCOPE, "greatest(told, least) AS told", "anchored", "count(*) OVER () AS found")
    rows = begun.where(DIFFERS).selectExpr(*columns).orderBy(f.expr("abs(told - anchored)").desc(), *SCOPE)
    shown = rows.limit(DIFFERENCES_SHOWN).collect()
    if not shown:
        return ""
    told = "; ".join(
        f"{row['pool']}:{row['namespace']}/{row['queue']} began the day with {row['told']:,} jobs by the events and "
        f"with {_by_redis(row['anchored'])}"
        for row in shown
    )
    return f"events and Redis's own counts differ in {shown[0]['found']:,} queues, backlogs follow the latter: {told}"


def _by_redis(anchored: int) -> str:
    if anchored >= 0:
        return f"{anchored:,} by Redis's own count"
    return f"none by Redis's own count: events of {-anchored:,} departures are missing"


def gap_text(gap: Mapping[str, Any]) -> str:
    """Of events that were dropped before a drain came."""
    until = datetime.fromtimestamp(gap["until_ms"] / 1000, UTC)
    since = "" if gap["from_ms"] is None else f"between {datetime.fromtimestamp(gap['from_ms'] / 1000, UTC):%F %T} and "
    return (
        f"up to {gap['dropped']:,} events of pool {gap['pool']}, partition {gap['partition']}, were dropped "
        f"{since or 'before '}{until:%F %T} UTC, before they reached the lake"
    )
