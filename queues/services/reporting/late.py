"""Days of which the lake has got more since their report: a drain was behind, or somebody filled the lake by hand."""

from __future__ import annotations

import logging
from datetime import date, timedelta
from typing import Final

from django.conf import settings

from queues.lake.files import list_days, read_day
from queues.lake.place import LakeError
from queues.models import ReportDay, ReportState

from .failures import BadResultsError
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
    found = list(done.values_list("date", "reported_run", "events"))
    late = next((day for day, run, _ in found if _has_grown(day, run)), None)
    if late is None:
        return []
    lake = frozenset(list_days(settings.TASKQ_LAKE_URL))
    error = f"Events of {late} came into the lake after its report was computed: it is made again, from this day on."
    reopened = [
        day
        for day, run, events in found
        # Not what somebody has deleted from the lake, nor what another process has made anew meanwhile.
        if day >= late
        and (day in lake or not events)
        and done.filter(pk=day, reported_run=run).update(state=ReportState.FAILED, failures=0, error=error)
    ]
    logger.warning("report: events came late", extra={"action": "report.late", "day": str(late), "days": len(reopened)})
    return reopened


def _has_grown(day: date, run: str) -> bool:
    """Whether the lake has more events of the day than when that run looked. One that did not say is believed."""
    try:
        seen = files_of(settings.TASKQ_REPORTS_URL, day).read_summary(run).get("lake_rows")
        return isinstance(seen, int) and read_day(settings.TASKQ_LAKE_URL, day).rows > seen
    except (BadResultsError, LakeError) as error:
        fields = {"action": "report.late", "day": str(day), "reason": str(error)}
        logger.warning("report: not known whether events came late", extra=fields)
        return False
