"""How numbers, times and the navigation are shown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final, Literal

from django import template
from django.conf import settings
from django.template.context import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dashboard.navigation import NavigationItem, items_for
from queues.engine.values import QueueStats

register = template.Library()

NOTHING: Final = "–"

Number = float | Literal[""] | None
"""What a template has: a part of what is None is the empty text there."""

_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))
_MAGNITUDES: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_SPARK_WIDTH, _SPARK_HEIGHT = 84, 20


@register.filter
def age(milliseconds: float | None) -> str:
    """`1500` → `1 s`: whole numbers of the largest unit that fits; a dash for None."""
    if milliseconds is None:
        return NOTHING
    for size, unit in _UNITS:
        if milliseconds >= size:
            return f"{int(milliseconds // size)} {unit}"
    return "0 ms"


@register.filter
def duration(milliseconds: float | None) -> str:
    """`1540` → `1.5 s`, `93000` → `1 min 33 s`: as exact as a reader wants it; a dash for None."""
    if milliseconds is None:
        return NOTHING
    if milliseconds < 1_000:
        return f"{round(milliseconds)} ms"
    if milliseconds < 60_000:
        return f"{_short(milliseconds / 1_000)} s"
    for (size, unit), (smaller, its_unit) in pairwise(_UNITS):
        if milliseconds >= size:
            rest = int(milliseconds % size // smaller)
            whole = f"{int(milliseconds // size)} {unit}"
            return f"{whole} {rest} {its_unit}" if rest else whole
    raise AssertionError(milliseconds)


@register.filter
def brief_duration(milliseconds: float | None) -> str:
    """`93000` → `1.5 min`: two or three digits of one unit, for narrow columns; a dash for None."""
    if milliseconds is None:
        return NOTHING
    for size, unit in _UNITS:
        if milliseconds >= size * 0.9995 and size > 1:
            return f"{_short(milliseconds / size)} {unit}"
    return f"{round(milliseconds)} ms"


@register.filter
def number(value: Number) -> str:
    """`1234567` → `1,234,567`, in English and in Chinese alike; a dash for None."""
    if value is None or isinstance(value, str):
        return NOTHING
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


@register.filter
def compact(value: Number) -> str:
    """`12345` → `12.3 k`; small whole numbers as they are; a dash for None."""
    if value is None or isinstance(value, str):
        return NOTHING
    for size, unit in _MAGNITUDES:
        if abs(value) >= size * 0.9995:  # what would be written as 1000 of the smaller unit
            return f"{_short(value / size)} {unit}"
    return _short(value)


@register.filter
def per_second(rate: Number) -> str:
    """`12.34` → `12.3/s`; a dash for None."""
    return NOTHING if rate is None or isinstance(rate, str) else f"{compact(rate)}/s"


@register.filter
def count(queue: QueueStats, state: str) -> int:
    """Number of the queue's jobs in `state`."""
    return next((number for known, number in queue.counts.items() if known == state), 0)


@register.filter
def when(moment: float | datetime | None, form: str = "datetime") -> SafeString | str:
    """A `<time>` in UTC, of ms since 1970 or a datetime; times.js makes it local. `form`: datetime, time or date."""
    if moment is None:
        return NOTHING
    at = moment.astimezone(UTC) if isinstance(moment, datetime) else datetime.fromtimestamp(moment / 1000, tz=UTC)
    text = at.strftime("%Y-%m-%d %H:%M:%S UTC")
    iso = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return format_html('<time datetime="{}" data-local="{}" title="{}">{}</time>', iso, form, text, text)


@register.simple_tag
def sparkline(values: Sequence[float | None], label: str = "") -> SafeString | str:
    """A small line of at least two values, oldest first, from zero to the greatest; `label` says what it is."""
    known = [value or 0 for value in values]
    if len(known) < 2:
        return ""
    top = max(*known, 1)
    step = _SPARK_WIDTH / (len(known) - 1)
    points = " ".join(
        f"{index * step:.1f},{_SPARK_HEIGHT - 1 - value / top * (_SPARK_HEIGHT - 2):.1f}"
        for index, value in enumerate(known)
    )
    said = format_html('role="img" aria-label="{}"', label) if label else SafeString('aria-hidden="true"')
    return format_html(
        '<svg class="sparkline" viewBox="0 0 {0} {1}" preserveAspectRatio="none" {2}>'
        '<polygon points="0,{1} {3} {0},{1}"/><polyline points="{3}"/></svg>',
        _SPARK_WIDTH,
        _SPARK_HEIGHT,
        said,
        points,
    )


@register.simple_tag
def command_line() -> str:
    """What to type before the name of a command: `taskq`, or `python manage.py` in a checkout."""
    return str(settings.TASKQ_SHOWN_COMMAND)


@register.simple_tag(takes_context=True)
def navigation(context: Context) -> Sequence[NavigationItem]:
    """The pages of the bar, for who is signed in."""
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


def _short(value: float) -> str:
    """One decimal below a hundred, none above, never `.0`; what is small but something is not written as nothing."""
    if 0.001 <= abs(value) < 0.05:
        return f"{value:.1g}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}".removesuffix(".0")
