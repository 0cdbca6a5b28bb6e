"""Figures of a day or an hour. Times in ms unless a name says otherwise; days are UTC days."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum


class Metric(StrEnum):
    """What is measured of jobs."""

    WAIT = "wait"
    """Due → consumed."""
    RUN = "run"
    """Consumed → acked."""
    TOTAL = "total"
    """Published → acked."""
    LATENESS = "lateness"
    """Due → ready, of jobs that had to wait for their time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How a metric was distributed. None: there was nothing to measure. `is_exact`: the percentiles are."""

    count: int = 0
    mean: float | None = None
    p50: int | None = None
    p90: int | None = None
    p95: int | None = None
    p99: int | None = None
    max: int | None = None
    is_exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Of a day, or of the hour `hour` (0 to 23). `success_rate` 0 to 1: acked of acked, dead and expired; None: none of
    these. `backlog`: jobs that were there at the end; None: unknown, for want of the day before.
    """

    hour: int | None = None
    published: int = 0
    consumed: int = 0
    acked: int = 0
    failed: int = 0
    retried: int = 0
    lease_lost: int = 0
    expired: int = 0
    dead: int = 0
    respawned: int = 0
    released: int = 0
    deleted: int = 0
    rescheduled: int = 0
    duplicates: int = 0
    bytes: int = 0
    arrivals: int = 0
    departures: int = 0
    success_rate: float | None = None
    backlog: int | None = None
    backlog_base_known: bool = False
    first_at: datetime | None = None
    last_at: datetime | None = None
    wait: Spread = Spread()
    run: Spread = Spread()
    total: Spread = Spread()
    lateness: Spread = Spread()

    def spread(self, metric: Metric) -> Spread:
        found: Spread = getattr(self, metric.value)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """What people set for the queue: that 95 of 100 hand-outs come within `seconds` of the job's being due.

    `is_met` and `share` (0 to 1, of hand-outs in time; from the histogram, so within 1 % of the bound): None if nothing
    was handed out.
    """

    seconds: int
    is_met: bool | None
    share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """A queue's day, or with `queue` "" that of a namespace. `flagged`: how many figures are out of line."""

    day: date
    pool: str
    namespace: str
    queue: str
    figures: Figures
    objective: Objective | None
    flagged: int
