"""What is done beside making reports: days with late events reopened, old reports deleted, small lake files merged."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Final

from django.conf import settings
from django.db.models import QuerySet

from queues.lake.compact import compact_day
from queues.lake.deletion import deleted_days
from queues.lake.files import list_days, read_day
from queues.lake.storage import LakeError, Storage
from queues.models import QueueDay, ReportDay, ReportState

from ..failures import BadResultsError
from ..values import BACK_DAYS, DRAINED_S, WarningKind
from .claims import add_warnings
from .files import CELLS, files_of

logger = logging.getLogger(__name__)

LATE_DAYS: Final = 7
"""How many days are looked at. Events that come later still are in a report only when somebody asks for it."""


def reopen_late_days(*, today: date) -> list[date]:
    """Make those of the last LATE_DAYS days due again whose report counts less than the lake has by now. Their reports
    stay until there are new ones. → these days

    What follows from them is found by `reopen_successors` once they are made; but the days after them whose reports do
    not say what they took from the day before (earlier versions) are due at once.
    Raises LakeError, database errors.
    """
    window = (today - timedelta(days=LATE_DAYS), today - timedelta(days=1))
    done = ReportDay.objects.filter(date__range=window, state=ReportState.DONE, complete=True).order_by("date")
    deleted = deleted_days(Storage(settings.TASKQ_LAKE_URL))
    rows = done.values_list("date", "reported_run", "events", "handed_on")
    found = [row for row in rows if row[0] not in deleted]
    late = [day for day, run_id, *_ in found if _has_grown(day, run_id)]
    if not late:
        return []
    error = f"Events of {late[0]} came into the lake after its report was computed: it is made again, from this day on."
    reopened = [
        day
        for day, run_id, events, handed_on in found
        if (day in late or (day > late[0] and not handed_on)) and _reopen(day, run_id, events, error)
    ]
    logger.warning(
        "report: events came late", extra={"action": "report.late", "day": str(late[0]), "days": len(reopened)}
    )
    return reopened


def reopen_successors(*, today: date) -> list[date]:
    """Make days due again whose report took something else from that of the day before than that one says by now.

    Raises LakeError, database errors.
    """
    window = (today - timedelta(days=BACK_DAYS), today - timedelta(days=1))
    found = _successors(ReportDay.objects.filter(date__range=window, complete=True))
    reopened = []
    for day in found:
        error = f"The report of {day.date - timedelta(days=1)} has changed since: this one follows from it."
        if _reopen(day.date, day.reported_run, day.events, error):
            reopened.append(day.date)
    return reopened


def successors_to_make(days: Iterable[date]) -> list[date]:
    """The days after these whose reports are there and took something else from them than they say by now."""
    after = {day + timedelta(days=1) for day in days}
    both = {one for day in after for one in (day, day - timedelta(days=1))}
    lake = frozenset(list_days(settings.TASKQ_LAKE_URL))
    return [
        one.date
        for one in _successors(ReportDay.objects.filter(date__in=both))
        if one.date in after and _can_be_made(one.date, one.events, lake)
    ]


def _successors(rows: QuerySet[ReportDay]) -> list[ReportDay]:
    """Those of the days that follow from a report that has changed since.

    Not those that were begun after it was there: they have read its files, which then are others than the database
    knows (lost, or kept elsewhere), and would take the same from them again and again.
    """
    days = {day.date: day for day in rows.filter(state=ReportState.DONE).order_by("date")}
    pairs = ((day, days.get(day.date - timedelta(days=1))) for day in days.values())
    return [
        day
        for day, before in pairs
        if before
        and before.handed_on
        and day.taken_over != before.handed_on
        and (before.reported_at is None or before.reported_at >= day.claimed_at)
    ]


def _reopen(day: date, run_id: str, events: int | None, error: str) -> bool:
    """Not what somebody has deleted from the lake, nor what another process has made anew meanwhile."""
    lake = frozenset(list_days(settings.TASKQ_LAKE_URL))
    done = ReportDay.objects.filter(pk=day, state=ReportState.DONE, reported_run=run_id)
    return _can_be_made(day, events, lake) and bool(done.update(state=ReportState.FAILED, failures=0, error=error))


def _can_be_made(day: date, events: int | None, lake: Collection[date]) -> bool:
    return day in lake or not events


def _has_grown(day: date, run_id: str) -> bool:
    """Whether the lake has more events of the day than when that run looked. One that did not say is believed."""
    try:
        seen = files_of(settings.TASKQ_REPORTS_URL, day).read_summary(run_id).get("lake_rows")
        return isinstance(seen, int) and read_day(settings.TASKQ_LAKE_URL, day).rows > seen
    except (BadResultsError, LakeError) as error:
        fields = {"action": "report.late", "day": str(day), "reason": str(error)}
        logger.warning("report: not known whether events came late", extra=fields)
        return False


DAYS_AT_ONCE: Final = 31
"""So that a smaller number of days to keep does not make one night's work endless."""


def prune_reports(*, today: date) -> int:
    """Forget the oldest days that are too old, at most DAYS_AT_ONCE. How many rows of days are gone.

    What hinders the deletion of files is logged and tried again next time. Raises database errors.
    """
    oldest = today - timedelta(days=settings.TASKQ_REPORTS_KEEP_DAYS)
    rows = ReportDay.objects.filter(date__lt=oldest).exclude(state=ReportState.RUNNING).order_by("date")
    days = list(rows.values_list("date", flat=True)[:DAYS_AT_ONCE])
    for day in days:
        QueueDay.objects.filter(day_id=day).delete()
        ReportDay.objects.filter(pk=day).delete()
    try:
        url = settings.TASKQ_REPORTS_URL
        there = {*list_days(url), *list_days(f"{url}/{CELLS}")}
        for day in sorted(day for day in there if day < oldest)[:DAYS_AT_ONCE]:
            files_of(settings.TASKQ_REPORTS_URL, day).delete_day()
    except (OSError, LakeError) as error:
        logger.warning("old reports not deleted", extra={"action": "report.prune", "reason": str(error)})
    return len(days)


def compact_closed_hours(*, now: datetime) -> None:
    """Merge the small files of the hours of yesterday and today that are over. What hinders that is logged, and tried
    again next time."""
    drained = now.astimezone(UTC) - timedelta(seconds=settings.TASKQ_LAKE_EVERY_S + DRAINED_S)
    today = now.astimezone(UTC).date()
    for day in (today - timedelta(days=1), today):
        closed = (drained - datetime.combine(day, datetime.min.time(), UTC)) // timedelta(hours=1)
        try:
            problems = compact_day(settings.TASKQ_LAKE_URL, day, hours=range(closed)).problems
            texts = [f"{url} was not compacted: {reason}" for url, reason in problems]
        except Exception as error:  # of any file system
            texts = [f"the hours' files were not compacted: {type(error).__name__}: {error}"]
        for text in texts:
            logger.warning("report: %s", text, extra={"action": "report.compact", "day": str(day)})


def compact_days(days: Iterable[date]) -> None:
    """Merge the small files of these days; a failure, and each file that cannot be merged, become warnings on the day's
    report, unless it names the file already. Raises database errors."""
    for day in days:
        known = ReportDay.objects.filter(pk=day).values_list("warnings", flat=True).first() or []
        try:
            problems = compact_day(settings.TASKQ_LAKE_URL, day).problems
            texts = [
                f"{url} was not compacted: {reason}"
                for url, reason in problems
                if not any(one["text"].startswith(f"{url} ") for one in known)
            ]
        except Exception as error:  # of any file system
            texts = [f"the day's files were not compacted: {type(error).__name__}: {error}"]
        for text in texts:
            logger.warning("report: %s", text, extra={"action": "report.compact", "day": str(day)})
        if texts:
            add_warnings(day, WarningKind.COMPACTION, texts)
