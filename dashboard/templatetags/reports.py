"""How figures of reports are written."""

from __future__ import annotations

from datetime import date
from typing import Final

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import pgettext

from dashboard.views.reports.weeks import short_weekday
from queues.services.reporting.figures import (
    KeyFigure,
    brief,
    difference,
    figure_title,
    jobs,
    share,
    unit_of,
    words_of_change,
    words_of_warning,
)
from queues.services.reporting.values import Change, ReportWarning, Spread

from .taskq import age, compact, duration

register = template.Library()

for written_alike in (share, brief, figure_title, words_of_change):
    register.filter(written_alike)

GLYPHS: Final = {"reported": "✓", "demo": "✓", "running": "…", "failed": "✕", "kept": "✕", "missing": "·", "none": ""}


@register.filter
def seconds(value: float | None) -> str:
    """A duration in seconds, as `duration` writes one in ms."""
    return duration(None if value is None else value * 1_000)


@register.filter
def long_ago(value: float | None) -> str:
    """Seconds as an age that does not change with every look: `3 h`."""
    return age(None if value is None else max(value, 60) * 1_000)


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
        return jobs(value)
    return f"{jobs(value)} ms" if unit == "ms" and value is not None else written(value, unit)


@register.simple_tag
def figure_cell(
    value: float | None, label: str, unit: str = "jobs", *, tone: str = "", begins_group: bool = False
) -> SafeString:
    """A figure as a cell of a table, in full on hover. `tone`: warn or bad, of what should not be. What is none or
    unknown has class zero: it is told quietly, and on a phone perhaps not at all."""
    is_nothing = not value if unit == "jobs" else value is None
    classes = ["number", "begins" if begins_group else "", "zero" if is_nothing else tone]
    return format_html(
        '<td class="{}" data-label="{}" title="{}">{}</td>',
        " ".join(filter(None, classes)),
        label,
        exactly(value, unit),
        written(value, unit),
    )


@register.filter
def change_of(one: KeyFigure) -> str:
    """`12 % more`, `2.1 points less`, `14 times as much`, `the same`; "" if there is nothing beside it."""
    return difference(one.value, one.against, one.figure.unit)


@register.filter
def value_of_change(change: Change) -> str:
    return written(change.value, unit_of(change))


@register.filter
def usual_of_change(change: Change) -> str:
    return written(change.usual, unit_of(change))


@register.filter
def warning_words(one: ReportWarning) -> str:
    """What it means for the figures, without its own text."""
    return words_of_warning(one.kind, one.text)


@register.filter
def part(spread: Spread, name: str) -> float | None:
    """The mean, a percentile or the greatest of what was measured."""
    found: float | None = getattr(spread, name)
    return found


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
def percent_done(done: float) -> int:
    """Whole percent of a share that is done; never more than is done."""
    return int(100 * done)
