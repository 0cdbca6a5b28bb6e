"""How figures of reports are written."""

from __future__ import annotations

from datetime import date
from typing import Final

from django import template
from django.utils.translation import gettext, pgettext

from dashboard.views.reports.key_figures import TITLES, UNITS, KeyFigure
from dashboard.views.reports.weeks import short_weekday
from queues.services.reporting.shapes import Change

from .taskq import NOTHING, age, compact, duration, number

register = template.Library()

MANY: Final = 3
"""From so many times on, a change is told in times rather than percent."""

_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))

LEAST_POINTS: Final = 0.05
"""Smaller differences of a share are none worth a number."""

GLYPHS: Final = {"reported": "✓", "demo": "✓", "running": "…", "failed": "✕", "kept": "✕", "missing": "·", "none": ""}


@register.filter
def share(part: float | None) -> str:
    """`0.9987` → `99.87 %`. What is not quite all, or not quite nothing, is not written as that."""
    if part is None:
        return NOTHING
    percent = 100 * part
    if 99.995 <= percent < 100:
        return "> 99.99 %"
    if 0 < percent < 0.005:
        return "< 0.01 %"
    places = 2 if percent >= 99 or percent < 1 else 1
    return f"{percent:.{places}f}".rstrip("0").rstrip(".") + " %"


@register.filter
def seconds(value: float | None) -> str:
    """A duration in seconds, as `duration` writes one in ms."""
    return duration(None if value is None else value * 1_000)


@register.filter
def long_ago(value: float | None) -> str:
    """Seconds as an age that does not change with every look: `3 h`."""
    return age(None if value is None else max(value, 60) * 1_000)


@register.filter
def brief(milliseconds: float | None) -> str:
    """`131000` → `2.2 min`: in one unit, for narrow columns; a dash for None."""
    if milliseconds is None:
        return NOTHING
    for size, unit in _UNITS:
        if milliseconds >= size:
            value = milliseconds / size
            text = f"{value:.0f}" if value >= 99.95 else f"{value:.1f}".removesuffix(".0")
            return f"{text} {unit}"
    return f"{round(milliseconds)} ms"


@register.filter
def written(value: float | None, unit: str) -> str:
    """A figure in its unit: jobs, share or ms."""
    if unit == "share":
        return share(value)
    return brief(value) if unit == "ms" else compact(value)


@register.filter
def exactly(value: float | None, unit: str) -> str:
    """The same in full, to show on hover."""
    if unit == "jobs":
        return number(int(value) if value is not None and value == int(value) else value)
    return f"{number(value)} ms" if unit == "ms" and value is not None else written(value, unit)


@register.filter
def change_of(one: KeyFigure) -> str:
    """`12 % more`, `2.1 points less`, `14 times as much`, `the same`; "" if there is nothing beside it."""
    return difference(one.value, one.against, one.figure.unit)


@register.filter
def figure_title(key: str) -> str:
    return str(TITLES.get(key, key))


@register.filter
def value_of_change(change: Change) -> str:
    return written(change.value, UNITS.get(change.figure, "jobs"))


@register.filter
def usual_of_change(change: Change) -> str:
    return written(change.usual, UNITS.get(change.figure, "jobs"))


@register.filter
def words_of_change(change: Change) -> str:
    return difference(change.value, change.usual, UNITS.get(change.figure, "jobs"))


def difference(value: float | None, against: float | None, unit: str) -> str:
    """How `value` differs from `against`, in words."""
    if value is None or against is None:
        return ""
    if value == against:
        return gettext("the same")
    if unit == "share":
        points = f"{abs(value - against) * 100:.2f}".rstrip("0").rstrip(".")
        if float(points) < LEAST_POINTS:
            return gettext("about the same")
        text = gettext("%(points)s points more") if value > against else gettext("%(points)s points less")
        return text % {"points": points}
    if not against:
        return gettext("instead of none")
    ratio = value / against
    if ratio >= MANY:
        return gettext("%(times)s times as much") % {"times": f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"}
    percent = round(abs(ratio - 1) * 100)
    if not percent:
        return gettext("about the same")
    text = gettext("%(percent)s %% more") if ratio > 1 else gettext("%(percent)s %% less")
    return text % {"percent": percent}


@register.filter
def day_mark(mark: str) -> str:
    """The sign of a day's state in the picker."""
    return GLYPHS[mark]


@register.filter
def weekday(day: date) -> str:
    """In as few characters as tell it."""
    return short_weekday(day)


@register.filter
def day_words(mark: str) -> str:
    """The same in words."""
    return {
        "reported": pgettext("report of a day", "reported"),
        "demo": pgettext("report of a day", "reported, from demo data"),
        "running": pgettext("report of a day", "being computed"),
        "failed": pgettext("report of a day", "failed"),
        "kept": pgettext("report of a day", "failed; an earlier report is there"),
        "missing": pgettext("report of a day", "no report"),
        "none": "",
    }[mark]


@register.filter
def percent_done(part: float) -> int:
    """Whole percent of a share that is done; never more than is done."""
    return int(100 * part)
