"""What a page about a day shows beside its figures: what is notable in which namespace, busiest queues, objectives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Generic, TypeVar

from django.db.models import F, QuerySet, Sum

from queues.models import QueueDay
from queues.models.report import ALL_QUEUES, COUNTS
from queues.pools.database import read_metadata

from ..permissions import User, sees_everything
from .building import JSON_FIELDS, entry_of, hours_of, report_of, row_of, success_rate_of
from .reading import visible_rows
from .shapes import Change, ErrorGroup, Figures, Metric, QueueReport, QueueRow, SlowJob

NAMESPACES_READ: Final = 50
"""Namespaces, the busiest, whose reports a page about all of them reads as a whole."""

BUSIEST: Final = 20
"""Queues of a heat map."""

OBJECTIVES: Final = 50
ERRORS: Final = 20
SLOWEST: Final = 10
"""Of each metric."""
CHANGES: Final = 50

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted(Generic[T]):
    """Something that is said of a queue of a namespace, or with no queue of the namespace."""

    pool: str
    namespace: str
    what: T


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """What stands out. `errors`: the most frequent first; `slowest`: of each metric; `changes`: those out of line."""

    errors: Sequence[Noted[ErrorGroup]]
    slowest: Mapping[Metric, Sequence[Noted[SlowJob]]]
    changes: Sequence[Noted[Change]]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueHours:
    """A queue's day, hour by hour; hours in which nothing happened are left out."""

    row: QueueRow
    hours: tuple[Figures, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Objectives:
    """Queues with an objective, missed ones first, at most OBJECTIVES. `judged`: those that handed out anything."""

    rows: tuple[QueueRow, ...]
    found: int
    judged: int
    met: int


def read_namespaces(*, user: User, day: date) -> tuple[QueueReport, ...]:
    """Reports of the busiest namespaces that `user` may see, at most NAMESPACES_READ; one query.

    Raises MetadataUnavailableError.
    """
    rows = visible_rows(user).filter(day_id=day, queue=ALL_QUEUES).select_related("day")
    rows = rows.order_by((F("published") + F("consumed")).desc(), "pool", "namespace")
    every = sees_everything(user)
    found = read_metadata(lambda: list(rows[:NAMESPACES_READ]))
    return tuple(report_of(row, entry_of(row.day, for_superuser=every)) for row in found)


def notes_of(reports: Iterable[QueueReport]) -> Notes:
    """What stands out in these; lists of many are merged and cut to the length of one."""
    errors: list[Noted[ErrorGroup]] = []
    slowest: list[Noted[SlowJob]] = []
    changes: list[Noted[Change]] = []
    for report in reports:
        pool, namespace = report.row.pool, report.row.namespace
        errors += [Noted(pool=pool, namespace=namespace, what=one) for one in report.errors]
        slowest += [Noted(pool=pool, namespace=namespace, what=one) for one in report.slowest]
        flagged = (one for one in report.changes if one.is_flagged)
        changes += [Noted(pool=pool, namespace=namespace, what=one) for one in flagged]
    errors.sort(key=lambda one: -(one.what.failed + one.what.dead))
    slowest.sort(key=lambda one: -one.what.ms)
    return Notes(
        errors=errors[:ERRORS],
        slowest={metric: [one for one in slowest if one.what.metric is metric][:SLOWEST] for metric in Metric},
        changes=changes[:CHANGES],
    )


def read_busiest(
    *, user: User, day: date, pool: str = "", namespace: str = "", most: int = BUSIEST
) -> tuple[QueueHours, ...]:
    """The busiest queues with their hours; one query. Raises MetadataUnavailableError."""
    rows = _queues(user, day, pool, namespace).defer(*(name for name in JSON_FIELDS if name != "hours"))
    rows = rows.order_by((F("published") + F("consumed")).desc(), "pool", "namespace", "queue")[:most]
    return tuple(QueueHours(row=row_of(row), hours=hours_of(row)) for row in read_metadata(lambda: list(rows)))


def list_objectives(*, user: User, day: date, pool: str = "", namespace: str = "") -> Objectives:
    """How queues did that have an objective; two queries. Raises MetadataUnavailableError."""
    rows = _queues(user, day, pool, namespace).exclude(objective_s=None).defer(*JSON_FIELDS)
    verdicts = read_metadata(lambda: list(rows.order_by().values_list("objective_met", flat=True)))
    shown = rows.order_by(F("objective_share").asc(nulls_last=True), "pool", "namespace", "queue")[:OBJECTIVES]
    return Objectives(
        rows=tuple(row_of(row) for row in read_metadata(lambda: list(shown))) if verdicts else (),
        found=len(verdicts),
        judged=sum(verdict is not None for verdict in verdicts),
        met=sum(verdict is True for verdict in verdicts),
    )


def read_sums(*, user: User, days: Sequence[date]) -> dict[date, Figures]:
    """Counts of all namespaces that `user` may see, day by day; days of which nothing is known are not in it.

    One query. Percentiles are not told: they do not add up. Raises MetadataUnavailableError.
    """
    rows = visible_rows(user).filter(day_id__in=days, queue=ALL_QUEUES).order_by()
    sums = rows.values_list("day_id").annotate(**{f"sum_{name}": Sum(name) for name in COUNTS})
    return {day: _counted(values) for day, *values in read_metadata(lambda: list(sums))}


def _counted(values: Sequence[int]) -> Figures:
    counts: dict[str, Any] = dict(zip(COUNTS, values, strict=True))
    return Figures(success_rate=success_rate_of(counts), **counts)


def _queues(user: User, day: date, pool: str, namespace: str) -> QuerySet[QueueDay]:
    rows = visible_rows(user).filter(day_id=day).exclude(queue=ALL_QUEUES)
    return rows.filter(pool=pool, namespace=namespace) if namespace else rows
