"""Pictures of reports: figures that charts.js draws, and the funnel, which is drawn here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from django import template
from django.utils.html import format_html, format_html_join, json_script
from django.utils.safestring import SafeString

from dashboard.formatting import compact, number
from queues.services.reporting.presenting.figures import Part, funnel_of
from queues.services.reporting.values import Figures

register = template.Library()

COLOURS: Final = (("c1", "c2"), ("c1", "c2"), ("c3", "c4", "c5", "c6"), ("c3", "c4", "c5", "c6"))
"""Of the parts of each step."""


@register.simple_tag
def picture(chart: Mapping[str, Any], kind: str, height: int = 200) -> SafeString:
    """A figure that charts.js draws, with its numbers in it."""
    return format_html(
        '<figure class="chart" data-chart="{}" data-height="{}">{}</figure>', kind, height, json_script(chart)
    )


@register.simple_tag
def funnel(figures: Figures, *, in_full: bool = False) -> SafeString:
    """What became of the day's jobs, as rows of bars on one scale, each followed by its numbers in words; `in_full`: to
    the last job, for paper, where nothing can be pointed at."""
    rows = funnel_of(figures)
    most = max([sum(jobs for _name, jobs in parts) for _title, parts in rows] + [1])
    drawn = (
        (_funnel_row(title, [*zip(colours, parts, strict=True)], most, number if in_full else compact),)
        for (title, parts), colours in zip(rows, COLOURS, strict=True)
    )
    return format_html_join("", "{}", drawn)


def _funnel_row(title: str, parts: Sequence[tuple[str, Part]], most: int, write: Callable[[float], str]) -> SafeString:
    """The bar has no text: the words beside it say all."""
    bars: list[tuple[Any, ...]] = []
    at = 0.0
    for colour, (_name, jobs) in parts:
        width = 100 * jobs / most
        if jobs:
            bars.append((colour, f"{at:.3f}%", f"{max(width, 0.15):.3f}%"))
        at += width
    drawn = format_html_join("", '<rect class="chart-bar {}" x="{}" y="0" width="{}" height="100%"/>', bars)
    told = format_html_join(
        "",
        '<li{}><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="chart-bar {}" width="10" height="10" rx="2"/>'
        '</svg> {} <b title="{}">{}</b></li>',
        (
            (SafeString(' class="zero"') if not jobs else "", colour, name, number(jobs), write(jobs))
            for colour, (name, jobs) in parts
        ),
    )
    return format_html(
        '<div class="funnel-row"><h3>{}</h3><svg class="funnel-bar" aria-hidden="true">{}</svg><ul>{}</ul></div>',
        title,
        drawn,
        told,
    )
