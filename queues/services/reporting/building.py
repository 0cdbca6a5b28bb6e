"""Makes what readers get out of the rows of the database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.utils import timezone

from queues.models import QueueDay, ReportDay, ReportState, ReportTrigger
from queues.models.report import COUNTS, METRIC_PARTS

from .shapes import (
    Change,
    DayEntry,
    DayState,
    ErrorGroup,
    Figures,
    Metric,
    Objective,
    QueueReport,
    QueueRow,
    ReportWarning,
    SlowJob,
    Spread,
    TryCount,
    WarningKind,
)

STALLED_AFTER: Final = timedelta(minutes=2)
"""A run that has shown no sign of life for so long may be taken over."""

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
        is_demo=day.demo,
        took_s=day.took_s,
        events=day.events if for_superuser else None,
        files=day.files if for_superuser else None,
        master=day.master if for_superuser else "",
        warnings=tuple(_warning(one, for_superuser=for_superuser) for one in day.warnings),
        stage=day.stage,
        share=day.share,
        started_at=day.claimed_at,
        finished_at=day.finished_at,
        is_stalled=is_running and timezone.now() - day.beat_at >= STALLED_AFTER,
        is_scheduled=day.trigger == ReportTrigger.SCHEDULED,
        error=day.error if for_superuser else "",
    )


def _warning(stored: Mapping[str, str], *, for_superuser: bool) -> ReportWarning:
    kind = stored.get("kind", "")
    return ReportWarning(
        kind=WarningKind(kind) if kind in list(WarningKind) else WarningKind.OTHER,
        text=stored.get("text", "") if for_superuser else "",
    )


def row_of(row: QueueDay) -> QueueRow:
    return QueueRow(
        day=row.day_id,
        pool=row.pool,
        namespace=row.namespace,
        queue=row.queue,
        figures=_figures(lambda name: getattr(row, name), first_at=row.first_at, last_at=row.last_at),
        objective=None
        if row.objective_s is None
        else Objective(seconds=row.objective_s, is_met=row.objective_met, share=row.objective_share),
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
        is_flagged=one["flagged"],
    )


def _time(ms: int | None) -> datetime | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1_000, UTC)
