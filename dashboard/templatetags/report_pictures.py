"""Pictures of reports: figures that charts.js draws, and the funnel, which is drawn here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join, json_script
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from queues.services.reporting.shapes import Figures

from .taskq import compact, number

register = template.Library()

Part = tuple[str, str, int]
"""Colour, name and number of jobs of a piece of a bar."""


@register.simple_tag
def picture(chart: Mapping[str, Any], kind: str, height: int = 200) -> SafeString:
    """A figure that charts.js draws, with its numbers in it."""
    return format_html(
        '<figure class="chart" data-chart="{}" data-height="{}">{}</figure>', kind, height, json_script(chart)
    )


@register.simple_tag
def funnel(figures: Figures) -> SafeString:
    """What became of the day's jobs, as rows of bars on one scale, each followed by its numbers in words."""
    rows = _funnel_rows(figures)
    most = max([sum(count for _colour, _name, count in parts) for _title, parts in rows] + [1])
    return format_html_join("", "{}", ((_funnel_row(title, parts, most),) for title, parts in rows))


def _funnel_rows(figures: Figures) -> list[tuple[str, list[Part]]]:
    return [
        (
            gettext("Arrived"),
            [
                ("c1", gettext("published"), figures.published),
                ("c2", gettext("respawned"), figures.respawned),
            ],
        ),
        (
            gettext("Handed out"),
            [
                ("c1", gettext("for the first time"), max(figures.consumed - figures.retried, 0)),
                ("c2", gettext("again"), figures.retried),
            ],
        ),
        (
            gettext("Attempts ended"),
            [
                ("c3", gettext("acked"), figures.acked),
                ("c4", gettext("failed"), figures.failed),
                ("c5", gettext("lease lost"), figures.lease_lost),
                ("c6", gettext("released"), figures.released),
            ],
        ),
        (
            gettext("Jobs ended"),
            [
                ("c3", gettext("acked"), figures.acked),
                ("c4", gettext("dead"), figures.dead),
                ("c5", gettext("expired"), figures.expired),
                ("c6", gettext("deleted"), figures.deleted),
            ],
        ),
    ]


def _funnel_row(title: str, parts: list[Part], most: int) -> SafeString:
    """The bar has no text: the words beside it say all."""
    bars: list[tuple[Any, ...]] = []
    at = 0.0
    for colour, _name, count in parts:
        width = 100 * count / most
        if count:
            bars.append((colour, f"{at:.3f}%", f"{max(width, 0.15):.3f}%"))
        at += width
    drawn = format_html_join("", '<rect class="chart-bar {}" x="{}" y="0" width="{}" height="100%"/>', bars)
    told = format_html_join(
        "",
        '<li{}><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="chart-bar {}" width="10" height="10" rx="2"/>'
        '</svg> {} <b title="{}">{}</b></li>',
        (
            (SafeString(' class="zero"') if not count else "", colour, name, number(count), compact(count))
            for colour, name, count in parts
        ),
    )
    return format_html(
        '<div class="funnel-row"><h3>{}</h3><svg class="funnel-bar" aria-hidden="true">{}</svg><ul>{}</ul></div>',
        title,
        drawn,
        told,
    )
