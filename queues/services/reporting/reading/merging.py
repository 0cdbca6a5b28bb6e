"""Several namespaces or days as one: counts are added up, percentiles come from merged histograms, notes are merged.

An average of percentiles would be no percentile of anything. A histogram is off by at most 1 % (queues.lake.sketch).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final, Generic, TypeVar

from django.db.models import F, QuerySet, Sum

from queues.lake.sketch import merge, quantile
from queues.models import QueueDay
from queues.models.report import ALL_QUEUES, COUNTS, QUANTILES
from queues.pools.database import read_metadata

from ...permissions import User, sees_everything
from ..values import (
    LEAST_WEEKS,
    Change,
    ChangeVerdict,
    ErrorGroup,
    Figures,
    History,
    Merged,
    Metric,
    QueueReport,
    QueueRow,
    SlowJob,
    Spread,
    TryCount,
)
from .day_reports import (
    JSON_FIELDS,
    NAMESPACES_MAX,
    days_that_lack_events,
    entry_of,
    histograms_of,
    hours_of,
    on_days,
    own_rows,
    report_of,
    reported_days,
    row_of,
    rows_of,
    success_rate_of,
    tries_of,
    visible_rows,
)

T = TypeVar("T")

RANGE_MAX: Final = 92
"""Days that are merged at most."""

NEEDED: Final = frozenset({"hours", "histograms", "tries"})


def merge_range(*, user: User, pool: str, namespace: str, queue: str = ALL_QUEUES, until: date, days: int) -> Merged:
    """The last `days` days up to and with `until` (at most RANGE_MAX) of a queue or a namespace, as one.

    Raises NamespaceNotFoundError for what `user` may not see, MetadataUnavailableError.
    """
    begin = until - timedelta(days=min(max(days, 1), RANGE_MAX) - 1)
    found = _read(rows_of(user, pool, namespace, queue).filter(on_days(begin, until)))
    found.sort(key=lambda row: row.report_date)
    backlog = found[-1].backlog if found and found[-1].report_date == until else None
    return _merge(found, begin, until, backlog)


def merge_day(*, user: User, day: date) -> Merged:
    """All namespaces that `user` may see, at most NAMESPACES_MAX, as one. Raises MetadataUnavailableError."""
    rows = visible_rows(user).filter(day_id=day, queue=ALL_QUEUES).order_by("pool", "namespace")
    found = _read(rows[:NAMESPACES_MAX])
    return _merge(found, day, day, _sum_if_known([row.backlog for row in found]))


def _read(rows: QuerySet[QueueDay]) -> list[QueueDay]:
    rows = rows.defer(*(name for name in JSON_FIELDS if name not in NEEDED))
    return read_metadata(lambda: list(rows))


def _merge(rows: Sequence[QueueDay], begin: date, end: date, backlog: int | None) -> Merged:
    reported = reported_days(begin, end) | {row.report_date for row in rows}
    zones = {row.report_date: row.time_zone for row in rows}
    every = [begin + timedelta(days=count) for count in range((end - begin).days + 1)]
    kept = [histograms_of(row.histograms) for row in rows]
    histograms = {metric: merge(one[metric] for one in kept) for metric in Metric}
    parts = [row_of(row).figures for row in rows]
    return Merged(
        begin=begin,
        end=end,
        days=tuple(day for day in every if day in reported),
        missing=tuple(day for day in every if day not in reported),
        lacking=tuple(sorted(days_that_lack_events(begin, end, zones))),
        figures=_sum(parts, histograms, hour=None, backlog=backlog),
        hours=_hours([hours_of(row) for row in rows], is_one_day=begin == end),
        histograms=histograms,
        tries=_tries(tries_of(row.tries) for row in rows),
    )


def _sum(
    parts: Sequence[Figures],
    histograms: Mapping[Metric, Mapping[int, int]],
    *,
    hour: int | None,
    backlog: int | None,
) -> Figures:
    counts: dict[str, Any] = {name: sum(getattr(part, name) for part in parts) for name in COUNTS}
    spreads: dict[str, Any] = {
        metric.value: _spread([part.spread(metric) for part in parts], histograms.get(metric, {})) for metric in Metric
    }
    return Figures(
        hour=hour,
        **counts,
        **spreads,
        success_rate=success_rate_of(counts),
        backlog=backlog,
        backlog_base_known=backlog is not None and all(part.backlog_base_known for part in parts),
        first_at=min((part.first_at for part in parts if part.first_at), default=None),
        last_at=max((part.last_at for part in parts if part.last_at), default=None),
    )


def _spread(parts: Sequence[Spread], histogram: Mapping[int, int]) -> Spread:
    """Without a histogram (hours have none) there are no percentiles, unless there is one part only."""
    measured = [part for part in parts if part.count]
    if len(measured) <= 1:
        return measured[0] if measured else Spread()
    count = sum(part.count for part in measured)
    greatest = max(part.max or 0 for part in measured)
    percentiles: dict[str, Any] = {name: quantile(histogram, share) for name, share in QUANTILES.items()}
    return Spread(
        count=count,
        mean=sum((part.mean or 0.0) * part.count for part in measured) / count,
        max=greatest,
        is_exact=False,
        **{name: None if value is None else min(value, greatest) for name, value in percentiles.items()},
    )


def _hours(rows: Sequence[Sequence[Figures]], *, is_one_day: bool) -> tuple[Figures, ...]:
    """Hour by hour of the day. A backlog is of a moment, so it is told of one day only."""
    by_hour: dict[int, list[Figures]] = {}
    for hours in rows:
        for figures in hours:
            by_hour.setdefault(figures.hour or 0, []).append(figures)
    merged = []
    for hour in sorted(by_hour):
        backlogs = [figures.backlog for figures in by_hour[hour]]
        backlog = _sum_if_known(backlogs) if is_one_day and len(backlogs) == len(rows) else None
        merged.append(_sum(by_hour[hour], {}, hour=hour, backlog=backlog))
    return tuple(merged)


def _tries(rows: Iterable[Iterable[TryCount]]) -> tuple[TryCount, ...]:
    jobs: dict[tuple[int, str], int] = {}
    for row in rows:
        for one in row:
            jobs[one.attempt, one.outcome] = jobs.get((one.attempt, one.outcome), 0) + one.jobs
    return tuple(TryCount(attempt=key[0], outcome=key[1], jobs=jobs[key]) for key in sorted(jobs))


def _sum_if_known(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


NAMESPACES_READ: Final = 50
"""Namespaces, the busiest, whose reports a page about all of them reads as a whole."""

BUSIEST: Final = 20
"""Queues of a heat map."""

OBJECTIVES: Final = 50
ERRORS: Final = 20
SLOWEST: Final = 10
"""Of each metric."""
CHANGES: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted(Generic[T]):
    """Something that is said of a queue of a namespace, or with no queue of the namespace."""

    pool: str
    namespace: str
    what: T


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """What stands out. `errors`: the most frequent first; `slowest`: of each metric; `changes`: those out of line;
    `better`: those that are so for the better. `history`: what there was to judge by."""

    errors: Sequence[Noted[ErrorGroup]]
    slowest: Mapping[Metric, Sequence[Noted[SlowJob]]]
    changes: Sequence[Noted[Change]]
    better: Sequence[Noted[Change]]
    history: History


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueHours:
    """A queue's day, hour by hour; hours in which nothing happened are left out."""

    row: QueueRow
    hours: tuple[Figures, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Objectives:
    """Queues with an objective, missed ones first, at most OBJECTIVES. `judged`: those that delivered anything."""

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
    reports = list(reports)
    for report in reports:
        pool, namespace = report.row.pool, report.row.namespace
        errors += [Noted(pool=pool, namespace=namespace, what=one) for one in report.errors]
        slowest += [Noted(pool=pool, namespace=namespace, what=one) for one in report.slowest]
        changes += [Noted(pool=pool, namespace=namespace, what=one) for one in report.changes]
    errors.sort(key=lambda one: -(one.what.failed + one.what.dead))
    slowest.sort(key=lambda one: -one.what.ms)
    return Notes(
        errors=errors[:ERRORS],
        slowest={metric: [one for one in slowest if one.what.metric is metric][:SLOWEST] for metric in Metric},
        changes=[one for one in changes if one.what.is_flagged][:CHANGES],
        better=[one for one in changes if one.what.is_better][:CHANGES],
        history=_history_of(reports),
    )


def _history_of(reports: Sequence[QueueReport]) -> History:
    """Of the scope with the longest history."""
    own = [
        change
        for report in reports
        for change in report.changes
        if change.queue == report.row.queue and change.hour is None and change.figure in COUNTS
    ]
    weeks = max((change.weeks for change in own), default=0)
    if any(not report.entry.is_complete for report in reports):
        return History(weeks=weeks, verdict=ChangeVerdict.INCOMPLETE)
    if any(change.verdict is ChangeVerdict.HOLIDAY for change in own):
        return History(weeks=weeks, verdict=ChangeVerdict.HOLIDAY)
    few = weeks < LEAST_WEEKS
    return History(weeks=weeks, verdict=ChangeVerdict.TOO_FEW_WEEKS if few else ChangeVerdict.USUAL)


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
    if not namespace:
        return visible_rows(user).filter(day_id=day).exclude(queue=ALL_QUEUES)
    return own_rows(user).filter(on_days(day, day), pool=pool, namespace=namespace).exclude(queue=ALL_QUEUES)
