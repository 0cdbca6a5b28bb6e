"""How numbers, times, charts in a table's row and the navigation are shown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django import template
from django.conf import settings
from django.template.context import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dashboard.formatting import NOTHING, age, brief_duration, compact, duration, number, per_second, rate
from dashboard.navigation import NavigationItem, items_for
from dashboard.series import Meaning
from dashboard.sparkline import sparkline
from queues.engine.queue_values import QueueStats
from queues.services.errors import TaskqError
from queues.services.queues.outages import Outages, known_outages, outages_of
from queues.services.queues.visible_queues import VisiblePools, visible_pools

register = template.Library()

for formatter in (age, duration, brief_duration, number, compact, per_second, rate):
    register.filter(formatter)

register.simple_tag(sparkline)


@register.filter
def count(queue: QueueStats, state: str) -> int:
    """Number of the queue's jobs in `state`."""
    return next((number for known, number in queue.counts.items() if known == state), 0)


@register.filter
def when(moment: float | datetime | None, form: str = "ago") -> SafeString | str:
    """A `<time>` in UTC, of ms since 1970 or a datetime, of which times.js makes how long ago that was, with the exact
    time as its tooltip. `form`: ago, or datetime, time or date in the reader's zone."""
    if moment is None:
        return NOTHING
    at = moment.astimezone(UTC) if isinstance(moment, datetime) else datetime.fromtimestamp(moment / 1000, tz=UTC)
    text = at.strftime("%Y-%m-%d %H:%M:%S UTC")
    iso = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return format_html('<time datetime="{}" data-local="{}" title="{}">{}</time>', iso, form, text, text)


@register.simple_tag
def dead_trend(hours: Sequence[int]) -> SafeString | str:
    """Deaths of each of the last hours, as a small line."""
    label = _("%(count)s died in %(hours)s hours") % {"count": sum(hours), "hours": len(hours)}
    return sparkline(hours, label, Meaning.DEAD)


@register.simple_tag
def command_line() -> str:
    """What to type before the name of a command: `taskq`, or `python manage.py` in a checkout."""
    return str(settings.TASKQ_SHOWN_COMMAND)


@register.simple_tag(takes_context=True)
def navigation(context: Context) -> Sequence[NavigationItem]:
    """The pages of the bar that the signed-in user may see."""
    request: Any = context.get("request")
    return items_for(request) if request is not None else ()


@register.simple_tag(takes_context=True)
def query(context: Context, **changes: Any) -> str:
    """`?...` of this page with some parameters changed; None takes one out. For links of filters, sorting and pages."""
    parameters = context["request"].GET.copy()
    for name, value in changes.items():
        if value is None or value == "":
            parameters.pop(name, None)
        else:
            parameters[name] = value
    return f"?{parameters.urlencode()}"


@register.simple_tag(takes_context=True)
def totals_strip(context: Context) -> VisiblePools | None:
    """What the person sees; None if it cannot be read: then the page has other things to say than this."""
    shown = context.get("overview") or context.get("list")
    visible = getattr(shown, "visible", None)
    if isinstance(visible, VisiblePools):
        return visible
    user: Any = context.get("user")
    try:
        return visible_pools(user=user)
    except TaskqError:
        return None


@register.simple_tag(takes_context=True)
def pools_away(context: Context, strip: VisiblePools | None) -> Outages | None:
    """Which pools did not answer when `strip` was read, or, on the page of an error, as far as that is known."""
    if isinstance(strip, VisiblePools):
        return outages_of(strip)
    user: Any = context.get("user")
    try:
        return known_outages(user=user) if context.get("code") == "store_unavailable" else None
    except TaskqError:
        return None
