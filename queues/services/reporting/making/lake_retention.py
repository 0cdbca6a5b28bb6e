"""Deletes days from the event lake that are too old, or because it is too large. Reports stay.

Days go whole, the oldest first. Yesterday and today stay, and each day whose events a report still needs: its own, or
that of the day after, which looks for deliveries after leases that were lost before midnight.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from django.conf import settings
from django.db import connection
from django.utils import timezone

from queues.lake.deletion import Deletion, delete_day, remove_deleted
from queues.lake.measuring import LakeMeter, LakeSize, Size, measure_lake
from queues.lake.names import day_dir
from queues.lake.storage import LakeError, Storage
from queues.models import ActivityAction, LakeMeasurement, ReportDay, ReportState

from ...activity import note_activity
from ..values import BACK_DAYS
from .due_days import can_compute

logger = logging.getLogger(__name__)

DAYS_AT_ONCE: Final = 31
"""So that a smaller number of days to keep does not make one turn endless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeRules:
    """`keep_days`: older days go; `max_bytes`: the oldest go while the lake is larger; 0: never. `before`: instead of
    both, all days before that one."""

    keep_days: int = 0
    max_bytes: int = 0
    before: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DoomedDay:
    """A day that is to be deleted, why, and how much that frees."""

    day: date
    reason: str
    size: Size


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionPlan:
    """`kept`: days that would go but for reports that still need them. `lake`: as it was; `bytes`: what it holds when
    all is done."""

    lake: LakeSize
    doomed: tuple[DoomedDay, ...]
    kept: tuple[date, ...]
    bytes: int


def plan_deletions(*, lake: LakeSize, rules: LakeRules, needed: frozenset[date], today: date) -> DeletionPlan:
    """Which days go, the oldest first. `needed`: days whose events reports still need."""
    left = lake.total.bytes
    doomed: list[DoomedDay] = []
    kept: list[date] = []
    for day, size in sorted(lake.days.items()):
        if day >= today - timedelta(days=1):
            break
        reason = _reason(day, left, rules, today)
        if not reason:
            continue
        if day in needed:
            kept.append(day)
            continue
        doomed.append(DoomedDay(day=day, reason=reason, size=size))
        left -= size.bytes
    return DeletionPlan(lake=lake, doomed=tuple(doomed), kept=tuple(kept), bytes=left)


def _reason(day: date, held: int, rules: LakeRules, today: date) -> str:
    """Why it goes; "": it stays."""
    if rules.before is not None:
        return f"asked for: all days before {rules.before}" if day < rules.before else ""
    if rules.keep_days and day < today - timedelta(days=rules.keep_days):
        return f"older than {rules.keep_days} days"
    if rules.max_bytes and held > rules.max_bytes:
        return f"the lake was larger than {rules.max_bytes} bytes"
    return ""


def needed_days(days: Iterable[date], *, today: date) -> frozenset[date]:
    """Those that a report still needs: its own or the next day's is missing, failed or being computed.

    Days that ended more than BACK_DAYS ago get no report by themselves any more, so only one that is being computed
    needs them. Neither do days wait where nobody makes reports: Spark is not installed here, and no other host has made
    one of these days. Raises database errors.
    """
    rows = dict(ReportDay.objects.values_list("date", "state"))
    done = frozenset(ReportDay.objects.filter(state=ReportState.DONE, complete=True).values_list("date", flat=True))
    oldest = today - timedelta(days=BACK_DAYS)
    are_made = can_compute() or any(day >= oldest for day in rows)

    def waits(day: date) -> bool:
        return rows.get(day) == ReportState.RUNNING or (are_made and day >= oldest and day not in done)

    return frozenset(day for day in days if waits(day) or waits(day + timedelta(days=1)))


def plan_by(rules: LakeRules, *, today: date, meter: LakeMeter | None = None) -> DeletionPlan:
    """What `rules` would delete now. `meter`: remembers old days. Raises LakeError, database errors."""
    lake = measure_lake(settings.TASKQ_LAKE_URL) if meter is None else meter.measure(today=today)
    return plan_deletions(lake=lake, rules=rules, needed=needed_days(lake.days, today=today), today=today)


def delete_days(plan: DeletionPlan, *, should_stop: Callable[[], bool] = lambda: False) -> list[Deletion]:
    """Carry out a plan, a day at a time, at most DAYS_AT_ONCE. → what this call has deleted. Raises LakeError."""
    deleted = []
    for doomed in plan.doomed[:DAYS_AT_ONCE]:
        if should_stop():
            break
        size = doomed.size
        deletion = delete_day(
            settings.TASKQ_LAKE_URL, doomed.day, reason=doomed.reason, files=size.files, size=size.bytes
        )
        _delete_cells(doomed.day)
        if deletion is None:  # another process was faster
            continue
        deleted.append(deletion)
        fields = {"day": str(deletion.day), "files": deletion.files, "bytes": deletion.bytes}
        logger.info("day deleted from the lake", extra={"action": "lake.delete", "reason": deletion.reason, **fields})
        note_activity(
            user=None,
            action=ActivityAction.LAKE_DAY_DELETED,
            pool="",
            target=str(deletion.day),
            count=deletion.files,
            detail=f"{deletion.reason}, {deletion.bytes} bytes",
        )
    return deleted


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedLake:
    """`deleted`: by this call; `kept`: days that would have gone but for reports that still need them."""

    deleted: Sequence[Deletion]
    kept: Sequence[date]


def prune_lake(
    *, today: date, should_stop: Callable[[], bool] = lambda: False, meter: LakeMeter | None = None
) -> PrunedLake:
    """Delete what TASKQ_LAKE_KEEP_DAYS and TASKQ_LAKE_MAX_BYTES say, and what is left of deleted days; note the size.

    Of this host's clock and the database's the one that is behind says what is old: deletion cannot be undone.
    Raises LakeError, database errors.
    """
    today = min(today, _database_date())
    for day in remove_deleted(settings.TASKQ_LAKE_URL):
        logger.warning("rest of a deleted day removed", extra={"action": "lake.delete", "day": str(day)})
        _delete_cells(day)
    rules = LakeRules(keep_days=settings.TASKQ_LAKE_KEEP_DAYS, max_bytes=settings.TASKQ_LAKE_MAX_BYTES)
    plan = plan_by(rules, today=today, meter=meter)
    deleted = delete_days(plan, should_stop=should_stop)
    _note_size(plan.lake, without=deleted)
    return PrunedLake(deleted=deleted, kept=plan.kept)


def _database_date() -> date:
    with connection.cursor() as cursor:
        cursor.execute("SELECT CURRENT_DATE")  # of connections, the time zone is UTC
        (found,) = cursor.fetchone()
    return date.fromisoformat(str(found))


def _note_size(lake: LakeSize, *, without: Sequence[Deletion]) -> None:
    days = lake.days.keys() - {one.day for one in without}
    LakeMeasurement.objects.update_or_create(
        pk=1,
        defaults={
            "measured_at": timezone.now(),
            "bytes": max(0, lake.total.bytes - sum(one.bytes for one in without)),
            "files": max(0, lake.total.files - sum(one.files for one in without)),
            "days": len(days),
            "first_day": min(days, default=None),
        },
    )


def _delete_cells(day: date) -> None:
    """What reports have counted of the day's hours: its events are gone, and it gets no other report."""
    from .files import CELLS  # loads pyarrow, without which the pump starts sooner

    try:
        Storage(settings.TASKQ_REPORTS_URL).delete_tree(f"{CELLS}/{day_dir(day)}")
    except LakeError as error:
        fields = {"action": "lake.delete", "day": str(day), "reason": str(error)}
        logger.warning("cells of a deleted day not removed", extra=fields)
