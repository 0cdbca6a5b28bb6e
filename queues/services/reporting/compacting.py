"""Has the lake's small files merged. Whatever goes wrong, the events are where they were."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import date

from django.conf import settings

from queues.lake.compact import compact_day

from .shapes import WarningKind
from .warnings import add_warning

logger = logging.getLogger(__name__)


def compact_days(days: Iterable[date]) -> None:
    """Merge the small files of these days; a failure becomes a warning on the day's report. Raises database errors."""
    for day in days:
        try:
            compact_day(settings.TASKQ_LAKE_URL, day)
        except Exception as error:  # of any file system
            text = f"the day's files were not compacted: {type(error).__name__}: {error}"
            logger.warning("report: %s", text, extra={"action": "report.compact", "day": str(day)})
            add_warning(day, WarningKind.COMPACTION, text)
