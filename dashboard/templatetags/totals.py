"""The sums that stand on every page."""

from __future__ import annotations

from typing import Any

from django import template
from django.template.context import Context

from queues.services.errors import TaskqError
from queues.services.queues.survey import Sight, see

register = template.Library()


@register.simple_tag(takes_context=True)
def totals_strip(context: Context) -> Sight | None:
    """What the person sees; None if it cannot be read: then the page has other things to say than this."""
    shown = context.get("overview") or context.get("list")
    sight = getattr(shown, "sight", None)
    if isinstance(sight, Sight):
        return sight
    user: Any = context.get("user")
    try:
        return see(user=user)
    except TaskqError:
        return None
