"""What is done beside making reports: days with late events reopened, old reports deleted, small lake files merged."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Final

from django.conf import settings

from queues.lake.compact import compact_day
from queues.lake.deletion import deleted_days
from queues.lake.files import list_days, read_day
from queues.lake.storage import LakeError, Storage
from queues.models import QueueDay, ReportDay, ReportState

from ..failures import BadResultsError
from ..values import WarningKind
from .claims import add_warnings
from .files import files_of

logger = logging.getLogger(__name__)

LATE_DAYS: Final = 7
"""How many days are looked at. Events that come later still are in a report only when somebody asks for it."""


def reopen_late_days(*, today: date) -> list[date]:
    """Make those of the last LATE_DAYS days due again whose report counts less than the lake has by now, with the days
    after them, whose backlogs follow from theirs. Their reports stay until there are new ones. → these days

    Raises LakeError, database errors.
    """
    window = (today - timedelta(days=LATE_DAYS), today - timedelta(days=1))
    done = ReportDay.objects.filter(date__range=window, state=ReportState.DONE, complete=True).order_by("date")
    deleted = deleted_days(Storage(settings.TASKQ_LAKE_URL))
    rows = done.values_list("date", "reported_run", "events")
    found = [(day, run_id, events) for day, run_id, events in rows if day not in deleted]
    late = next((day for day, run_id, _ in found if _has_grown(day, run_id)), None)
    if late is None:
        return []
    lake = frozenset(list_days(settings.TASKQ_LAKE_URL))
    error = f"Events of {late} came into the lake after its report was computed: it is made again, from this day on."
    reopened = [
        day
        for day, run_id, events in found
        # Not what somebody has deleted from the lake, nor what another process has made anew meanwhile.
        if day >= late
        and (day in lake or not events)
        and done.filter(pk=day, reported_run=run_id).update(state=ReportState.FAILED, failures=0, error=error)
    ]
    logger.warning("report: events came late", extra={"action": "report.late", "day": str(late), "days": len(reopened)})
    return reopened


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
        for day in [day for day in list_days(settings.TASKQ_REPORTS_URL) if day < oldest][:DAYS_AT_ONCE]:
            files_of(settings.TASKQ_REPORTS_URL, day).delete_day()
    except (OSError, LakeError) as error:
        logger.warning("old reports not deleted", extra={"action": "report.prune", "reason": str(error)})
    return len(days)


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
