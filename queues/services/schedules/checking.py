"""Checks what a schedule is to be before anything of it is saved. Errors name the field and say what was wrong."""

from __future__ import annotations

from dataclasses import replace

from django.core.exceptions import ValidationError

from queues.engine import InvalidArgumentError, PublishOptions, constants, prepare
from queues.engine.backoff import NO_BACKOFF, parse_backoff
from queues.engine.names import check_queue
from queues.models.schedule import CATCH_UP_MAX, JITTER_MAX_S
from queues.models.validators import QUEUE_WORDS, validate_schedule_name

from .timing import INTERVAL_MAX_MS, INTERVAL_MIN_MS, TIME_MAX_MS, Timing, check_cron, check_zone
from .values import ScheduleFields, ScheduleKind

__all__ = ["QUEUE_WORDS", "check_fields", "check_name", "check_timing"]


def check_name(name: str) -> None:
    """Raise InvalidArgumentError unless a schedule may be called so."""
    try:
        validate_schedule_name(name)
    except ValidationError as error:
        reason = (
            "it is a word of the queues' routes"
            if error.code == "reserved_name"
            else f"letters, digits, -, _, . and : only, at most {constants.NAME_MAX_BYTES} characters"
        )
        raise InvalidArgumentError(f"invalid schedule name: {reason}") from None


def check_fields(fields: ScheduleFields) -> ScheduleFields:
    """The same, in the form in which it is saved. Raises InvalidArgumentError."""
    try:
        check_queue(fields.queue)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"invalid queue: {error}") from None
    if len(fields.body) > constants.BODY_MAX_BYTES:
        raise InvalidArgumentError("invalid body: body too large")
    _check_options(fields)
    fields = _with_its_timing(replace(fields, zone=check_zone(fields.zone)))
    if not 1 <= fields.catch_up_max <= CATCH_UP_MAX:
        raise InvalidArgumentError(f"invalid catch_up_max: 1 to {CATCH_UP_MAX}")
    if not 0 <= fields.jitter_s <= JITTER_MAX_S:
        raise InvalidArgumentError(f"invalid jitter: 0 to {JITTER_MAX_S} s")
    return fields


def check_timing(timing: Timing, *, now_ms: int) -> None:
    """Raise InvalidArgumentError for what is never due after `now_ms`, and for jitter that would mix up the fires."""
    if timing.next_after(now_ms) is None:
        raise InvalidArgumentError(
            "invalid at: it has passed" if timing.kind is ScheduleKind.ONCE else "invalid cron: it is never due"
        )
    gap_ms = timing.shortest_gap_ms(now_ms) if timing.jitter_ms else None
    if gap_ms is not None and timing.jitter_ms >= gap_ms:
        raise InvalidArgumentError(
            f"invalid jitter: it must be shorter than the time between two fires, {gap_ms / 1000:g} s"
        )


def _with_its_timing(fields: ScheduleFields) -> ScheduleFields:
    """With the fields of its kind; those of other kinds are emptied."""
    empty = replace(fields, cron="", interval_ms=None, starts_ms=None, at_ms=None)
    if fields.kind is ScheduleKind.CRON:
        return replace(empty, cron=check_cron(fields.cron))
    if fields.kind is ScheduleKind.ONCE:
        if fields.at_ms is None or not 0 <= fields.at_ms <= TIME_MAX_MS:
            raise InvalidArgumentError("invalid at: expected a moment, epoch seconds or ISO 8601 with a zone")
        return replace(empty, at_ms=fields.at_ms)
    if fields.interval_ms is None or not INTERVAL_MIN_MS <= fields.interval_ms <= INTERVAL_MAX_MS:
        raise InvalidArgumentError(f"invalid every: {INTERVAL_MIN_MS // 1000} to {INTERVAL_MAX_MS // 1000} s")
    if fields.starts_ms is not None and not 0 <= fields.starts_ms <= TIME_MAX_MS:
        raise InvalidArgumentError("invalid start: expected a moment, epoch seconds or ISO 8601 with a zone")
    return replace(empty, interval_ms=fields.interval_ms, starts_ms=fields.starts_ms)


def _check_options(fields: ScheduleFields) -> None:
    prepare(
        PublishOptions(
            ttl_ms=(constants.DEFAULT_TTL_S if fields.ttl_s is None else fields.ttl_s) * 1000,
            tries=constants.DEFAULT_TRIES if fields.tries is None else fields.tries,
            priority=fields.priority,
            backoff=parse_backoff(fields.backoff) if fields.backoff else NO_BACKOFF,
            retention_ms=fields.retention_s * 1000,
            attributes=None if fields.attributes is None else dict(fields.attributes),
            limit_key=fields.limit_key or None,
        )
    )
