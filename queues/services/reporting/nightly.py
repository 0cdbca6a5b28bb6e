"""What is to be done each night: reports of the days that have ended and have none, the oldest first."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from importlib.util import find_spec
from typing import Final

from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Now

from queues.models import ReportDay, ReportState

from .building import STALLED_AFTER
from .files import list_days

logger = logging.getLogger(__name__)

BACK_DAYS: Final = 31
"""Days that ended longer ago are reported by command only."""

FAILURES_MAX: Final = 3
"""A day that failed so often is left alone until tomorrow, when it gets one more chance."""

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
    """Days of the lake that have ended and wait for a report; none while another process makes one.

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
    return [day for day in list_days(settings.TASKQ_LAKE_URL) if first <= day < today and day not in settled]


def report_due_days(*, today: Callable[[], date], make: Callable[[date], bool]) -> int:
    """Call `make` for each due day until it answers false, or nothing is due. How many it was called for."""
    tried: set[date] = set()
    while (day := _next(due_days(today=today()), tried)) is not None:
        tried.add(day)
        if not make(day):
            break
    return len(tried)


def _next(days: Iterable[date], tried: set[date]) -> date | None:
    return next((day for day in days if day not in tried), None)
