"""Reads reports for people: of a superuser everything, of others what is about the namespaces that they may see.

A row belongs to the namespace as a row, not to its name; see QueueDay. The rows of a namespace that is gone are for
superusers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from queues.lake.local_days import find_zone, utc_days_of
from queues.models import Namespace, QueueDay, ReportDay, ReportState, ReportTrigger
from queues.models.policy import OBJECTIVE_TARGET
from queues.models.report import ALL_QUEUES, COUNTS, METRIC_PARTS
from queues.pools.database import read_metadata

from ...permissions import User, check_visible, sees_everything
from ..values import (
    LOSSES,
    STALLED_AFTER,
    Change,
    ChangeVerdict,
    DayEntry,
    DayState,
    ErrorGroup,
    Figures,
    Metric,
    Objective,
    PoolEvents,
    QueueReport,
    QueueRow,
    ReportWarning,
    SeriesDay,
    SlowJob,
    Spread,
    TryCount,
    WarningKind,
)

NAMESPACES_MAX: Final = 1_000
"""Namespaces on one page."""


def list_namespaces(*, user: User, day: date) -> tuple[QueueRow, ...]:
    """Sums of the namespaces that `user` may see, by pool and name, at most NAMESPACES_MAX; one query.

    Raises MetadataUnavailableError.
    """
    rows = visible_rows(user).filter(day_id=day, queue=ALL_QUEUES).defer(*JSON_FIELDS).order_by("pool", "namespace")
    return tuple(row_of(row) for row in read_metadata(lambda: list(rows[:NAMESPACES_MAX])))


def read_queue(*, user: User, day: date, pool: str, namespace: str, queue: str = ALL_QUEUES) -> QueueReport | None:
    """All of a queue's day, or of a namespace's. None: no report of that day, or nothing happened there.

    Raises NamespaceNotFoundError for what `user` may not see, MetadataUnavailableError.
    """
    rows = rows_of(user, pool, namespace, queue).filter(on_days(day, day)).select_related("day")
    row = read_metadata(rows.first)
    return None if row is None else report_of(row, entry_of_row(row, for_superuser=sees_everything(user)))


def latest_of_queue(*, user: User, pool: str, namespace: str, queue: str = ALL_QUEUES) -> QueueReport | None:
    """The newest day on which something happened there. Raises as `read_queue`."""
    rows = rows_of(user, pool, namespace, queue).select_related("day")
    row = read_metadata(rows.order_by(Coalesce("local_date", "day_id").desc()).first)
    return None if row is None else report_of(row, entry_of_row(row, for_superuser=sees_everything(user)))


def read_series(
    *,
    user: User,
    pool: str,
    namespace: str,
    queue: str = ALL_QUEUES,
    until: date,
    days: int,
    with_hours: bool = False,
) -> tuple[SeriesDay, ...]:
    """`days` days up to and with `until`, the earliest first, at most DAYS_MAX, none left out; two queries.

    `with_hours`: for a heat map. Raises NamespaceNotFoundError, MetadataUnavailableError.
    """
    wanted = [until - timedelta(days=back) for back in reversed(range(min(max(days, 1), DAYS_MAX)))]
    left_out = [name for name in JSON_FIELDS if not (with_hours and name == "hours")]
    rows = rows_of(user, pool, namespace, queue).filter(on_days(wanted[0], until)).defer(*left_out)
    found = {row.report_date: row for row in read_metadata(lambda: list(rows))}
    reported = reported_days(wanted[0], until) | found.keys()
    return tuple(
        SeriesDay(
            day=day,
            has_report=day in reported,
            row=row_of(found[day]) if day in found else None,
            hours=hours_of(found[day]) if day in found and with_hours else (),
        )
        for day in wanted
    )


def reported_days(begin: date, end: date) -> frozenset[date]:
    """Which days of a range, ends included, have a report. Raises MetadataUnavailableError."""
    rows = ReportDay.objects.filter(date__range=(begin, end)).exclude(reported_at=None).values_list("date", flat=True)
    return frozenset(read_metadata(lambda: list(rows)))


def days_that_lack_events(begin: date, end: date, zones: Mapping[date, str] | None = None) -> frozenset[date]:
    """Those of a range, ends included, whose counts are "at least". `zones`: of days that are not days of UTC; they
    lack events if any day of UTC does in which they lie. Raises MetadataUnavailableError."""
    zones = {day: zone for day, zone in (zones or {}).items() if zone}
    around = timedelta(days=1 if zones else 0)
    rows = ReportDay.objects.filter(date__range=(begin - around, end + around)).exclude(reported_at=None)
    found = read_metadata(lambda: list(rows.exclude(warnings=[]).values_list("date", "warnings")))
    lacking = {day for day, warnings in found if any(one.get("kind") in LOSSES for one in warnings)}
    local = {day for day, zone in zones.items() if lacking & utc_days_of(day, find_zone(zone))}
    return frozenset(local | {day for day in lacking - zones.keys() if begin <= day <= end})


def has_demo_days(begin: date, end: date) -> bool:
    """Whether a report of a range, ends included, is of made-up data. Raises MetadataUnavailableError."""
    return read_metadata(ReportDay.objects.filter(date__range=(begin, end), demo=True).exists)


def visible_rows(user: User) -> QuerySet[QueueDay]:
    """Those of UTC days that `user` may read, as a query. What several namespaces have in common is told of UTC days,
    whatever the time zones of their own pages are."""
    return _visible(user).filter(local_date=None)


def own_rows(user: User) -> QuerySet[QueueDay]:
    """Those that `user` may read of days of a namespace's own, as a query: in its time zone, or else of UTC."""
    return _visible(user).filter(is_own=True)


def rows_of(user: User, pool: str, namespace: str, queue: str) -> QuerySet[QueueDay]:
    """All days of a queue, or of a namespace, as a query: in its time zone. Raises NamespaceNotFoundError."""
    check_visible(user=user, pool=pool, namespace=namespace)
    return own_rows(user).filter(pool=pool, namespace=namespace, queue=queue)


def on_days(begin: date, end: date) -> Q:
    """Rows of `own_rows` that are about days of a range, ends included."""
    return Q(local_date=None, day_id__gte=begin, day_id__lte=end) | Q(local_date__range=(begin, end))


def _visible(user: User) -> QuerySet[QueueDay]:
    if sees_everything(user):
        return QueueDay.objects.all()
    return QueueDay.objects.filter(scope__in=Namespace.objects.visible_to(user).order_by().values("pk"))


DAYS_MAX: Final = 400
"""Days of one list."""

OTHER_FIGURES: Final = ("success_rate", "backlog", "backlog_base_known")
"""Figures of a row and of its hours that neither add up nor are measured."""

JSON_FIELDS: Final = ("hours", "histograms", "tries", "errors", "slowest", "changes")
"""Long: rows of a table are read without them."""


def entry_of(day: ReportDay, *, for_superuser: bool) -> DayEntry:
    """`for_superuser` False: without what is about the installation as a whole."""
    is_running = day.state == ReportState.RUNNING
    return DayEntry(
        day=day.date,
        state=DayState(day.state),
        reported_at=day.reported_at,
        is_complete=day.complete,
        last_event_at=day.last_event_at,
        is_demo=day.demo,
        took_s=day.took_s,
        events=day.events if for_superuser else None,
        files=day.files if for_superuser else None,
        master=day.master if for_superuser else "",
        warnings=tuple(_warning(one, for_superuser=for_superuser) for one in day.warnings),
        reconciliation=tuple(PoolEvents(**one) for one in day.reconciliation) if for_superuser else (),
        stage=day.stage,
        share=day.share,
        started_at=day.claimed_at,
        finished_at=day.finished_at,
        is_stalled=is_running and timezone.now() - day.beat_at >= STALLED_AFTER,
        is_scheduled=day.trigger == ReportTrigger.SCHEDULED,
        error=day.error if for_superuser else "",
    )


def entry_of_row(row: QueueDay, *, for_superuser: bool) -> DayEntry:
    """The report of the day that a row is about: of UTC, or of a time zone. Raises MetadataUnavailableError."""
    entry = entry_of(row.day, for_superuser=for_superuser)
    if row.local_date is None:
        return entry
    own = replace(entry, last_event_at=row.last_at, is_complete=bool(row.complete))
    return local_entry(own, day=row.local_date, time_zone=row.time_zone, for_superuser=for_superuser)


def local_entry(entry: DayEntry, *, day: date, time_zone: str, for_superuser: bool) -> DayEntry:
    """The report of a day of UTC as that of a day of a time zone, which was made with it.

    What is lacking, or made up, of any day of UTC in which that day lies is so of it as well. What is about the day of
    UTC as a whole is left out: numbers of events and files, and other warnings. Raises MetadataUnavailableError.
    """
    rows = ReportDay.objects.filter(pk__in=utc_days_of(day, find_zone(time_zone))).order_by("date")
    found = read_metadata(lambda: list(rows.values_list("demo", "warnings")))
    losses = [one for _, warnings in found for one in warnings if one.get("kind") in LOSSES]
    return replace(
        entry,
        day=day,
        time_zone=time_zone,
        is_demo=any(demo for demo, _ in found),
        events=None,
        files=None,
        reconciliation=(),
        warnings=tuple(_warning(one, for_superuser=for_superuser) for one in losses),
    )


def _warning(stored: Mapping[str, str], *, for_superuser: bool) -> ReportWarning:
    kind = stored.get("kind", "")
    return ReportWarning(
        kind=WarningKind(kind) if kind in list(WarningKind) else WarningKind.OTHER,
        text=stored.get("text", "") if for_superuser else "",
    )


def row_of(row: QueueDay) -> QueueRow:
    return QueueRow(
        day=row.report_date,
        time_zone=row.time_zone,
        pool=row.pool,
        namespace=row.namespace,
        queue=row.queue,
        figures=_figures(lambda name: getattr(row, name), first_at=row.first_at, last_at=row.last_at),
        objective=None
        if row.objective_s is None
        else Objective(
            seconds=row.objective_s,
            target=OBJECTIVE_TARGET if row.objective_target is None else row.objective_target,
            is_met=row.objective_met,
            share=row.objective_share,
        ),
        flagged=row.flagged,
    )


def hours_of(row: QueueDay) -> tuple[Figures, ...]:
    return tuple(figures_of_hour(stored) for stored in row.hours)


def figures_of_hour(stored: Mapping[str, Any]) -> Figures:
    """`stored`: as in QueueDay.hours, where zeros and nulls are left out."""
    defaults = dict.fromkeys(COUNTS, 0) | {f"{metric}_count": 0 for metric in Metric}
    defaults |= {f"{metric}_exact": True for metric in Metric} | {"backlog_base_known": False}
    return _figures(lambda name: stored.get(name, defaults.get(name)), hour=stored["hour"])


def report_of(row: QueueDay, entry: DayEntry) -> QueueReport:
    return QueueReport(
        row=row_of(row),
        entry=entry,
        hours=hours_of(row),
        histograms=histograms_of(row.histograms),
        tries=tries_of(row.tries),
        errors=tuple(_error(one, row.queue) for one in row.errors),
        slowest=tuple(_slow_job(one, row.queue) for one in row.slowest),
        changes=tuple(_change(one, row.queue) for one in row.changes),
    )


def histograms_of(stored: Mapping[str, Mapping[str, int]]) -> dict[Metric, dict[int, int]]:
    """Every metric is there; JSON has made texts of the buckets."""
    return {metric: {int(bucket): jobs for bucket, jobs in stored.get(metric.value, {}).items()} for metric in Metric}


def tries_of(stored: Iterable[Mapping[str, Any]]) -> tuple[TryCount, ...]:
    return tuple(TryCount(attempt=one["attempt"], outcome=one["outcome"], jobs=one["jobs"]) for one in stored)


def success_rate_of(counts: Mapping[str, int]) -> float | None:
    """Acked of all that ended by being acked, dead or expired; None: nothing did."""
    ended = counts["acked"] + counts["dead"] + counts["expired"]
    return counts["acked"] / ended if ended else None


def _figures(read: Callable[[str], Any], **others: Any) -> Figures:
    values = {name: read(name) for name in (*COUNTS, *OTHER_FIGURES)} | others
    spreads: dict[str, Any] = {metric.value: _spread(read, metric) for metric in Metric}
    return Figures(**values, **spreads)


def _spread(read: Callable[[str], Any], metric: Metric) -> Spread:
    parts = {part: read(f"{metric}_{part}") for part in METRIC_PARTS}
    return Spread(is_exact=parts.pop("exact"), **parts)


def _error(one: Mapping[str, Any], queue: str) -> ErrorGroup:
    return ErrorGroup(
        queue=one.get("queue", queue),
        pattern=one["pattern"],
        failed=one["failed"],
        dead=one["dead"],
        first_at=_time(one["first_at"]),
        last_at=_time(one["last_at"]),
        job=one["job"] or "",
    )


def _slow_job(one: Mapping[str, Any], queue: str) -> SlowJob:
    return SlowJob(
        queue=one.get("queue", queue),
        metric=Metric(one["metric"]),
        rank=one["rank"],
        job=one["job"] or "",
        attempt=one["attempt"],
        ms=one["ms"],
        at=_time(one["at"]),
        worker=one["worker"] or "",
    )


def _change(one: Mapping[str, Any], queue: str) -> Change:
    return Change(
        queue=one.get("queue", queue),
        figure=one["figure"],
        value=one["value"],
        usual=one["usual"],
        spread=one["spread"],
        weeks=one["weeks"],
        verdict=_verdict(one),
        hour=one.get("hour"),
    )


def _verdict(one: Mapping[str, Any]) -> ChangeVerdict:
    """Reports of earlier versions have flags only."""
    if one.get("verdict"):
        return ChangeVerdict(one["verdict"])
    return ChangeVerdict.WORSE if one["flagged"] else ChangeVerdict.USUAL


def _time(ms: int | None) -> datetime | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1_000, UTC)
