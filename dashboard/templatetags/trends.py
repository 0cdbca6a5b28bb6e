"""How what happened of late is shown in a row of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from queues.engine.stats.minutes import Minute

from .taskq import compact, sparkline

register = template.Library()


@register.simple_tag
def acked_sparkline(
    trends: Mapping[tuple[str, str, str], Sequence[Minute]], place: tuple[str, str, str]
) -> SafeString | str:
    """The acks of each minute, as a small line."""
    minutes = trends.get(place, ())
    acked = [minute.acked for minute in minutes]
    label = _("%(count)s acked in %(minutes)s minutes") % {"count": sum(acked), "minutes": len(acked)}
    return sparkline(acked, label)


@register.filter
def rate(per_second: float) -> str:
    """`0.016` → `0.02`: two places below ten, for queues that do something now and then."""
    return f"{per_second:.2g}" if 0 < per_second < 1 else compact(per_second)
