"""What namespaces and queues used, by day and over a range: jobs, bytes, seconds that jobs ran, and their price."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

from django.conf import settings
from django.db.models import F, FloatField, Q, QuerySet, Sum
from django.db.models.functions import Cast, Round

from queues.models import QueueDay
from queues.models.report import ALL_QUEUES
from queues.pools.database import read_metadata

from ...permissions import User, check_visible
from ..reading.day_reports import days_that_lack_events, has_demo_days, reported_days, visible_rows

DAYS_MAX: Final = 400
"""Days of one range."""

SCOPES_MAX: Final = 1_000
"""Namespaces, or queues of a namespace, of one list: those that ran longest."""

GIB: Final = 2**30
MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """`jobs` published, `bytes` of their bodies, and how many ms acked deliveries ran."""

    jobs: int = 0
    bytes: int = 0
    run_ms: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(jobs=self.jobs + other.jobs, bytes=self.bytes + other.bytes, run_ms=self.run_ms + other.run_ms)

    @property
    def run_s(self) -> float:
        return self.run_ms / 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """In `currency`: of a second that a job ran, of a million jobs, of a GiB. None: not set."""

    currency: str = ""
    run_second: Decimal | None = None
    million_jobs: Decimal | None = None
    gib: Decimal | None = None

    @property
    def are_set(self) -> bool:
        return (self.run_second, self.million_jobs, self.gib) != (None, None, None)

    def cost_of(self, usage: Usage) -> Decimal | None:
        """None if no price is set; what has no price costs nothing."""
        if not self.are_set:
            return None
        return (
            (self.run_second or 0) * Decimal(usage.run_ms) / 1_000
            + (self.million_jobs or 0) * Decimal(usage.jobs) / MILLION
            + (self.gib or 0) * Decimal(usage.bytes) / GIB
        )


def prices() -> Prices:
    """By the settings `TASKQ_COST_...`."""
    return Prices(
        currency=settings.TASKQ_COST_CURRENCY,
        run_second=settings.TASKQ_COST_RUN_SECOND,
        million_jobs=settings.TASKQ_COST_MILLION_JOBS,
        gib=settings.TASKQ_COST_GIB,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeUsage:
    """What a namespace (`queue` "") or a queue used, on `day`, or over the whole range (None)."""

    pool: str
    namespace: str
    queue: str
    usage: Usage
    day: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeUsage:
    """What was used from `begin` to `end`, both included.

    `scopes`: namespaces or, of a namespace, its queues; those that ran longest first, at most SCOPES_MAX of the `found`
    ones. `by_day`: of all, of days that have a report. `lacking`: days whose counts are "at least".
    """

    begin: date
    end: date
    total: Usage
    scopes: tuple[ScopeUsage, ...]
    found: int
    by_day: Mapping[date, Usage]
    missing: tuple[date, ...]
    lacking: tuple[date, ...]
    has_demo: bool

    @property
    def total_scope(self) -> ScopeUsage:
        """All of it, of no name."""
        return ScopeUsage(pool="", namespace="", queue="", usage=self.total)

    @property
    def days(self) -> list[date]:
        return [self.begin + timedelta(days=number) for number in range((self.end - self.begin).days + 1)]


def read_usage(*, user: User, begin: date, end: date, pool: str = "", namespace: str = "") -> RangeUsage:
    """Of the namespaces that `user` may see, or of one with its queues; of at most the last DAYS_MAX days of the range.

    Raises NamespaceNotFoundError, MetadataUnavailableError.
    """
    begin = max(begin, end - timedelta(days=DAYS_MAX - 1))
    rows = _rows(user, begin, end, pool, namespace)
    wholes = rows.filter(queue=ALL_QUEUES)
    by_day = {day: _usage(sums) for day, *sums in _summed(wholes, "day_id")}
    listed = rows.exclude(queue=ALL_QUEUES) if namespace else wholes
    scopes = [
        ScopeUsage(pool=pool_, namespace=namespace_, queue=queue, usage=_usage(sums))
        for pool_, namespace_, queue, *sums in _summed(listed, "pool", "namespace", "queue")
    ]
    scopes.sort(key=lambda one: (-one.usage.run_ms, -one.usage.jobs, one.pool, one.namespace, one.queue))
    reported = reported_days(begin, end)
    every = [begin + timedelta(days=number) for number in range((end - begin).days + 1)]
    return RangeUsage(
        begin=begin,
        end=end,
        total=sum(by_day.values(), Usage()),
        scopes=tuple(scopes[:SCOPES_MAX]),
        found=len(scopes),
        by_day={day: by_day.get(day, Usage()) for day in every if day in reported},
        missing=tuple(day for day in every if day not in reported),
        lacking=tuple(sorted(days_that_lack_events(begin, end))),
        has_demo=has_demo_days(begin, end),
    )


def read_daily_usage(
    *, user: User, begin: date, end: date, pool: str = "", namespace: str = "", scopes: Iterable[ScopeUsage] = ()
) -> list[ScopeUsage]:
    """Day by day: of each namespace, or of the one that is named; or only of `scopes`, few, which may be queues.

    Raises NamespaceNotFoundError, MetadataUnavailableError.
    """
    begin = max(begin, end - timedelta(days=DAYS_MAX - 1))
    rows = _rows(user, begin, end, pool, namespace)
    wanted = Q()
    for one in scopes:
        wanted |= Q(pool=one.pool, namespace=one.namespace, queue=one.queue)
    rows = rows.filter(wanted or Q(queue=ALL_QUEUES))
    found = _summed(rows.order_by("day_id", "pool", "namespace", "queue"), "day_id", "pool", "namespace", "queue")
    return [
        ScopeUsage(pool=pool_, namespace=namespace_, queue=queue, usage=_usage(sums), day=day)
        for day, pool_, namespace_, queue, *sums in found
    ]


def _rows(user: User, begin: date, end: date, pool: str, namespace: str) -> QuerySet[QueueDay]:
    rows = visible_rows(user).filter(day_id__gte=begin, day_id__lte=end).order_by()
    if namespace:
        check_visible(user=user, pool=pool, namespace=namespace)
        rows = rows.filter(pool=pool, namespace=namespace)
    return rows


def _summed(rows: QuerySet[QueueDay], *by: str) -> list[tuple[Any, ...]]:
    """A mean is its sum divided by its count, in double precision: times the count, and rounded, it is the sum again,
    as long as that is below 2^51 ms (71,000 years)."""
    run_ms = Round(Cast("run_mean", FloatField()) * Cast(F("run_count"), FloatField()))
    sums = rows.values(*by).annotate(sum_jobs=Sum("published"), sum_bytes=Sum("bytes"), sum_run_ms=Sum(run_ms))
    return read_metadata(lambda: list(sums.values_list(*by, "sum_jobs", "sum_bytes", "sum_run_ms")))


def _usage(sums: Sequence[Any]) -> Usage:
    jobs, size, run_ms = sums
    return Usage(jobs=int(jobs or 0), bytes=int(size or 0), run_ms=round(run_ms or 0))
