"""How jobs are shown."""

from __future__ import annotations

from typing import Any, Final

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext

from dashboard.formatting import NOTHING, escape_visibly, visible_text
from dashboard.job_bodies import preview_line
from queues.engine.values import JobDetail

register = template.Library()

register.filter("escape_visibly", lambda text: escape_visibly(str(text or "")))
register.filter("visible_text", lambda text: visible_text(str(text or "")))

_UNITS: Final = ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB"))


@register.filter
def preview(job: JobDetail) -> SafeString:
    """The first line of what the job carries."""
    return preview_line(job.body, size=job.body_bytes)


@register.filter
def size(count: int) -> str:
    """`1536` → `1.5 KiB`."""
    for unit, name in _UNITS:
        if count >= unit:
            return f"{count / unit:.1f}".removesuffix(".0") + f" {name}"
    return f"{count} B"


@register.filter
def state_name(state: Any) -> str:
    """The name of a job's state in the reader's language."""
    names = {
        "ready": pgettext("job state", "Ready"),
        "delayed": pgettext("job state", "Delayed"),
        "retry": pgettext("job state", "Retry"),
        "working": pgettext("job state", "Working"),
        "dead": pgettext("job state", "Dead"),
        "completed": pgettext("job state", "Completed"),
        "blocked": pgettext("job state", "Blocked"),
        "grouped": pgettext("job state", "Grouped"),
    }
    return names[str(state)]


@register.filter
def act_name(act: Any) -> str:
    """What the button of an act says."""
    names = {
        "ack": gettext("Ack"),
        "retry": gettext("Make ready now"),
        "release": gettext("Release"),
        "reschedule": gettext("Reschedule"),
        "respawn": gettext("Respawn"),
        "delete": gettext("Delete"),
    }
    return names[str(act)]


@register.filter
def last_error(job: JobDetail) -> str:
    """The error of the newest attempt that failed."""
    return job.history[-1].error if job.history else ""


@register.filter
def percent(part: float, whole: float) -> int:
    """Whole percent, from 0 to 100."""
    return min(100, round(100 * part / whole)) if whole else 100


@register.filter
def share_of(part: int, whole: int | None) -> str:
    """`3.1 %` of `whole`; a dash when either is nothing or not known."""
    if not part or not whole:
        return NOTHING
    share = 100 * min(part, whole) / whole
    return f"{share:.1f} %" if share >= 0.1 else "< 0.1 %"


@register.filter
def event_name(kind: str) -> str:
    """What an event of the lake says, in the reader's language; the word itself of a kind that a later version knew."""
    names = {
        "published": gettext("Published"),
        "ready": gettext("Ready"),
        "consumed": gettext("Delivered"),
        "acked": gettext("Acked"),
        "failed": gettext("Failed"),
        "lease_lost": gettext("Lease lost"),
        "released": gettext("Released"),
        "rescheduled": gettext("Rescheduled"),
        "dead": gettext("Dead"),
        "respawned": gettext("Respawned"),
        "expired": gettext("Expired"),
        "deleted": gettext("Deleted"),
        "purged": gettext("Forgotten"),
    }
    return names.get(kind, kind)
