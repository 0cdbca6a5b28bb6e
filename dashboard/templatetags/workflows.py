"""How workflows and their nodes are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from dashboard.formatting import escape_visibly

register = template.Library()

NAMES_SHOWN: Final = 3
NODE_PILLS: Final = {
    "done": "ok",
    "dead": "bad",
    "deleted": "bad",
    "expired": "bad",
    "retry": "warn",
    "working": "info",
    "cancelled": "warn",
}
"""The class of each pill; other states have a plain one. static/dashboard/workflow/states.js has those of the graph."""


@register.filter
def node_state(state: Any) -> str:
    """The name of a node's state in the reader's language."""
    names = {
        "pending": pgettext("job state", "Pending"),
        "blocked": pgettext("job state", "Blocked"),
        "ready": pgettext("job state", "Ready"),
        "delayed": pgettext("job state", "Delayed"),
        "retry": pgettext("job state", "Retry"),
        "working": pgettext("job state", "Working"),
        "done": pgettext("job state", "Done"),
        "dead": pgettext("job state", "Dead"),
        "cancelled": pgettext("job state", "Cancelled"),
        "deleted": pgettext("job state", "Deleted"),
        "expired": pgettext("job state", "Expired"),
        "gone": pgettext("job state", "Gone"),
    }
    return names.get(str(state), str(state))


@register.filter
def node_pill(state: Any) -> str:
    """The class of its pill."""
    return NODE_PILLS.get(str(state), "")


@register.filter
def workflow_state(state: Any) -> str:
    """The name of a workflow's state in the reader's language."""
    names = {
        "running": pgettext("a workflow is", "running"),
        "done": pgettext("a workflow is", "done"),
        "failed": pgettext("a workflow has", "failed"),
        "cancelled": pgettext("a workflow is", "cancelled"),
    }
    return names[str(state)]


@register.filter
def workflow_pill(state: Any) -> str:
    """The class of its pill."""
    return {"running": "info", "done": "ok", "failed": "bad", "cancelled": "warn"}[str(state)]


@register.simple_tag
def workflow_progress(counts: Any) -> SafeString:
    """A bar of all nodes: done, failed, at work, and the rest. `counts` has these names and `total`."""
    parts: Mapping[str, int] = {"ok": counts.done, "bad": counts.failed, "info": counts.working}
    label = _("%(done)s of %(total)s done, %(failed)s failed, %(working)s working") % {
        "done": counts.done,
        "total": counts.total,
        "failed": counts.failed,
        "working": counts.working,
    }
    bars, left = list[tuple[str, str, str]](), 0.0
    for name, part in parts.items():
        width = 100 * part / counts.total if counts.total else 0
        bars.append((name, f"{left:.4g}", f"{width:.4g}"))
        left += width
    drawn = format_html_join(
        "", '<rect class="{}" x="{}" width="{}" height="1"/>', (bar for bar in bars if bar[2] != "0")
    )
    return format_html(
        '<svg class="parts" viewBox="0 0 100 1" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>',
        label,
        drawn,
    )


@register.filter
def first_names(names: Sequence[str]) -> SafeString:
    """`a, b, c and 7 more`."""
    shown = format_html_join(", ", "{}", ((escape_visibly(name),) for name in names[:NAMES_SHOWN]))
    more = len(names) - NAMES_SHOWN
    return (
        format_html("{} {}", shown, ngettext("and %(n)s more", "and %(n)s more", more) % {"n": more})
        if more > 0
        else shown
    )


@register.filter
def node_duration(node: Any) -> int | None:
    """How long its last attempt took, in ms; None while that is not known."""
    return max(0, node.ended_ms - node.started_ms) if node.started_ms and node.ended_ms else None


@register.filter
def has_job(node: Any) -> bool:
    """Whether there is a job to look at."""
    return str(node.state) not in ("pending", "deleted", "expired", "cancelled", "gone")
