"""From a schedule's row to its timing, and back; times of rows and times in ms."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from queues.models import Schedule, ScheduleKind

from .timing import Timing

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def to_ms(moment: datetime) -> int:
    """Milliseconds since the epoch."""
    return (moment - EPOCH) // _MILLISECOND


def to_datetime(ms: int) -> datetime:
    """The same as a datetime in UTC."""
    return EPOCH + timedelta(milliseconds=ms)


def optional_ms(moment: datetime | None) -> int | None:
    """As `to_ms`, of what may be missing."""
    return None if moment is None else to_ms(moment)


def optional_datetime(ms: int | None) -> datetime | None:
    """As `to_datetime`, of what may be missing."""
    return None if ms is None else to_datetime(ms)


def timing_of(row: Schedule) -> Timing:
    """When it is due."""
    return Timing(
        kind=ScheduleKind(row.kind),
        cron=row.cron,
        zone=row.zone,
        interval_ms=row.interval_ms or 0,
        anchor_ms=to_ms(row.starts_at) if row.starts_at else 0,
        at_ms=to_ms(row.at) if row.at else 0,
        jitter_ms=row.jitter_s * 1000,
        salt=str(row.pk),
    )


def set_next(row: Schedule, due_ms: int | None, timing: Timing) -> None:
    """Write the next due time into the row, which is not saved."""
    row.due_at = optional_datetime(due_ms)
    row.fire_at = None if due_ms is None or row.paused else to_datetime(timing.fire_at(due_ms))
