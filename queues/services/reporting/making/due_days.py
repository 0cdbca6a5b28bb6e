"""Which days wait for a report: those that have ended and have none, the oldest first. And whether today does.

`queues.pump.nightly` says at which time of the night reports begin.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from importlib.util import find_spec
from typing import Final

from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Now

from queues.lake.deletion import deleted_days
from queues.lake.files import list_days
from queues.lake.storage import Storage
from queues.models import ReportDay, ReportState

from ..values import BACK_DAYS, DRAINED_S, STALLED_AFTER
from .local_days import has_ended_since

logger = logging.getLogger(__name__)

FAILURES_MAX: Final = 3
"""A day that failed so often is left alone until tomorrow, when it gets one more chance."""

COMPACTED_DAYS: Final = 3

AGAIN_AFTER: Final = timedelta(minutes=10)
"""How long a day that failed is left alone at least."""


def can_compute() -> bool:
    """Whether the package has been installed with its extra `reports`."""
    return find_spec("pyspark") is not None


def due_days(*, today: date) -> list[date]:
    """Days that have ended and wait for a report; none while another process makes one.

    From the first day of the lake to its last: on days between nothing happened, which is worth a report, and the next
    day's backlog follows from it. Behind the last one a drain may only be late. Days that were deleted get none.

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
    deleted = deleted_days(Storage(settings.TASKQ_LAKE_URL))
    return [day for day in days if day not in settled and day not in deleted]


def today_is_due(now: datetime) -> bool:
    """Whether it is time for another report of today so far, and Spark is installed. `now`: with a time zone.

    Every TASKQ_REPORT_TODAY_EVERY_S, a while after full hours, when their last events are in the lake; if that is 0,
    when the day of a namespace with a time zone has ended. What failed is tried again after AGAIN_AFTER, or at the next
    time once it has failed FAILURES_MAX times in a row. Where reports are made by command only, this one is, too.
    Raises LakeError, database errors.
    """
    every = settings.TASKQ_REPORT_TODAY_EVERY_S
    if settings.TASKQ_REPORT_AT is None or not can_compute():
        return False
    midnight = datetime.combine(now.astimezone(UTC).date(), datetime.min.time(), UTC)
    row = ReportDay.objects.filter(pk=midnight.date()).first()
    if not every:
        is_due = has_ended_since(row.claimed_at if row else None, now=now)
        return is_due and midnight.date() in list_days(settings.TASKQ_LAKE_URL)
    passed = (now - midnight).total_seconds() - settings.TASKQ_LAKE_EVERY_S - DRAINED_S
    if passed < 0:
        return False
    begun = now - timedelta(seconds=passed % every)
    if row and row.claimed_at >= begun and not _is_to_be_tried_again(row, now):
        return False
    return midnight.date() in list_days(settings.TASKQ_LAKE_URL)


def _is_to_be_tried_again(row: ReportDay, now: datetime) -> bool:
    """Whether its latest run failed, and not just now nor too often."""
    if row.state != ReportState.FAILED or row.failures >= FAILURES_MAX or row.finished_at is None:
        return False
    return row.finished_at <= now - AGAIN_AFTER


def report_due_days(*, today: Callable[[], date], make: Callable[[Sequence[date]], bool]) -> None:
    """Call `make` for the days that are due, late events among the reasons, and for those that become due meanwhile,
    because their predecessor has changed for one, until it answers false.

    Each day is tried once. Raises LakeError, database errors.
    """
    from .upkeep import reopen_late_days, reopen_successors  # load pyarrow, without which the pump starts sooner

    reopen_late_days(today=today())
    tried: set[date] = set()
    while True:
        reopen_successors(today=today())
        days = [day for day in due_days(today=today()) if day not in tried]
        tried.update(days)
        if not days or not make(days):
            break


def recent_days(*, today: date) -> list[date]:
    """Days whose files are to be compacted every night: late events make new small ones, and a night may have been cut
    short."""
    return [today - timedelta(days=back) for back in range(COMPACTED_DAYS, 0, -1)]
