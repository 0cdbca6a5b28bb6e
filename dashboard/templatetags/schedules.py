"""How schedules are shown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from dashboard.formatting import duration
from queues.services.schedules.values import FireOutcome, ScheduleFields, ScheduleKind, ScheduleState

register = template.Library()

_PILLS: Final = {
    FireOutcome.FIRED: "ok",
    FireOutcome.PENDING: "info",
    FireOutcome.SKIPPED: "",
    FireOutcome.MISSED: "warn",
    FireOutcome.FAILED: "bad",
}


@register.filter
def wall_clock(ms: int, zone: str) -> str:
    """What the clocks of a zone show then: `2026-03-29 03:00:00 +02:00`."""
    moment = datetime.fromtimestamp(ms / 1000, UTC).astimezone(ZoneInfo(zone))
    return f"{moment:%Y-%m-%d %H:%M:%S} {moment.isoformat()[-6:]}"


@register.filter
def fires_when(fields: ScheduleFields) -> str:
    """`30 2 * * *`, `every 5 min`, or `once`."""
    if fields.kind is ScheduleKind.CRON:
        return fields.cron
    if fields.kind is ScheduleKind.INTERVAL:
        return _("every %(time)s") % {"time": duration(fields.interval_ms)}
    return pgettext("a schedule fires", "once")


@register.filter
def zone_of(fields: ScheduleFields) -> str:
    """The zone, where it matters."""
    return fields.zone if fields.kind is ScheduleKind.CRON else ""


@register.filter
def outcome_name(outcome: Any) -> str:
    """What became of a fire, in the reader's language."""
    return str(FireOutcome(outcome).label)


@register.filter
def outcome_pill(outcome: Any) -> str:
    """The class of its pill."""
    return _PILLS[FireOutcome(outcome)]


@register.filter
def schedule_state(state: Any) -> str:
    """The name of a schedule's state in the reader's language."""
    names = {
        "active": pgettext("a schedule is", "active"),
        "paused": pgettext("a schedule is", "paused"),
        "ended": pgettext("a schedule has", "ended"),
    }
    return names[ScheduleState(state).value]


@register.filter
def schedule_pill(state: Any) -> str:
    """The class of its pill."""
    return {"active": "ok", "paused": "warn", "ended": ""}[ScheduleState(state).value]


@register.filter
def catch_up_words(fields: ScheduleFields) -> str:
    """Its catch-up rule."""
    words = {"none": _("with none"), "last": _("with the last one")}
    every = _("with all of them, at most %(most)s") % {"most": fields.catch_up_max}
    return words.get(fields.catch_up.value, every)


@register.filter
def overlap_words(fields: ScheduleFields) -> str:
    """Its overlap rule."""
    return {
        "allow": _("publish another one"),
        "skip": _("skip this time"),
        "replace": _("replace it: cancel the job before"),
    }[fields.overlap.value]
