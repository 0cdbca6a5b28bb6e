"""Forgets reports that are older than TASKQ_REPORTS_KEEP_DAYS: rows and files. The lake is not touched."""

from __future__ import annotations

import logging
from datetime import date, timedelta
from typing import Final

from django.conf import settings

from queues.lake.files import list_days
from queues.lake.place import LakeError
from queues.models import QueueDay, ReportDay, ReportState

from .files import files_of

logger = logging.getLogger(__name__)

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
