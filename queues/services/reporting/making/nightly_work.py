"""Nightly work on reports.

Lists the days that have ended and have no report, the oldest first; reopens days with late events, deletes old reports,
merges small files of the lake.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from importlib.util import find_spec
from typing import Final

from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Now

from queues.lake.compact import compact_day
from queues.lake.files import list_days, read_day
from queues.lake.storage import LakeError
from queues.models import QueueDay, ReportDay, ReportState

from ..failures import BadResultsError
from ..values import STALLED_AFTER, WarningKind
from .claims import add_warning
from .files import files_of

logger = logging.getLogger(__name__)

BACK_DAYS: Final = 31
"""Days that ended longer ago are reported by command only."""

FAILURES_MAX: Final = 3
"""A day that failed so often is left alone until tomorrow, when it gets one more chance."""

COMPACTED_DAYS: Final = 3

AGAIN_AFTER: Final = timedelta(minutes=10)
"""How long a day that failed is left alone at least."""


def is_time(now: datetime) -> bool:
    """Whether TASKQ_REPORT_AT has come today, and Spark is installed. `now`: with a time zone."""
    at = settings.TASKQ_REPORT_AT
    return at is not None and now.astimezone(UTC).time() >= at and can_compute()


def can_compute() -> bool:
    """Whether the package has been installed with its extra `reports`."""
    return find_spec("pyspark") is not None


def due_days(*, today: date) -> list[date]:
    """Days that have ended and wait for a report; none while another process makes one.

    From the first day of the lake to its last: on days between nothing happened, which is worth a report, and the next
    day's backlog follows from it. Behind the last one a drain may only be late.

    Raises LakeError, database errors.
    """
    first = today - timedelta(days=BACK_DAYS)
    rows = ReportDay.objects.filter(date__gte=first, date__lt=today)
    if rows.filter(state=ReportState.RUNNING, beat_at__gte=Now() - STALLED_AFTER).exists():
        return []
    midnight = datetime.combine(today, datetime.min.time(), UTC)
    tired = Q(failures__gte=FAILURES_MAX, finished_at__gte=midnight)
    resting = Q(state=ReportState.FAILED, failures__gt=0, finished_at__gte=Now() - AGAIN_AFTER)
    done = Q(state=ReportState.DONE, complete=True)
    settled = frozenset(rows.filter(done | tired | resting).values_list("date", flat=True))
    lake = list_days(settings.TASKQ_LAKE_URL)
    if not lake:
        return []
    begin, end = max(first, lake[0]), min(lake[-1], today - timedelta(days=1))
    days = (begin + timedelta(days=number) for number in range((end - begin).days + 1))
    return [day for day in days if day not in settled]


def report_due_days(*, today: Callable[[], date], make: Callable[[Sequence[date]], bool]) -> None:
    """Call `make` for the days that are due, late events among the reasons, and for those that become due meanwhile,
    until it answers false.

    Each day is tried once. Raises LakeError, database errors.
    """
    # loads pyarrow, without which the pump starts sooner

    reopen_late_days(today=today())
    tried: set[date] = set()
    while days := [day for day in due_days(today=today()) if day not in tried]:
        tried.update(days)
        if not make(days):
            break


def recent_days(*, today: date) -> list[date]:
    """Days whose files are to be compacted every night: late events make new small ones, and a night may have been cut
    short."""
    return [today - timedelta(days=back) for back in range(COMPACTED_DAYS, 0, -1)]


LATE_DAYS: Final = 7
"""How many days are looked at. Events that come later still are in a report only when somebody asks for it."""


def reopen_late_days(*, today: date) -> list[date]:
    """Make those of the last LATE_DAYS days due again whose report counts less than the lake has by now, with the days
    after them, whose backlogs follow from theirs. Their reports stay until there are new ones. → these days

    Raises LakeError, database errors.
    """
    window = (today - timedelta(days=LATE_DAYS), today - timedelta(days=1))
    done = ReportDay.objects.filter(date__range=window, state=ReportState.DONE, complete=True).order_by("date")
    found = list(done.values_list("date", "reported_run", "events"))
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
    """Merge the small files of these days; a failure becomes a warning on the day's report. Raises database errors."""
    for day in days:
        try:
            compact_day(settings.TASKQ_LAKE_URL, day)
        except Exception as error:  # of any file system
            text = f"the day's files were not compacted: {type(error).__name__}: {error}"
            logger.warning("report: %s", text, extra={"action": "report.compact", "day": str(day)})
            add_warning(day, WarningKind.COMPACTION, text)
