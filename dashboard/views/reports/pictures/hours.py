"""The hours of a day as charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _

from queues.services.reporting.summary import LINES
from queues.services.reporting.values import Figures, Metric, QueueReport

from .parts import HOURS, Chart, Of, Value, axis, count, hourly, nothing_measured, percentile


def flow(hours: Sequence[Figures], *, until: int = 24) -> Chart:
    """What happened hour by hour. `until`: hours from there on have not been."""
    lines = [
        (_("published"), count("published")),
        (_("acked"), count("acked")),
        (_("failed attempts"), count("failed")),
        (_("dead"), count("dead")),
    ]
    return _by_hour(_("Jobs by hour"), "jobs", hours, lines, until=until)


def percentiles(hours: Sequence[Figures], metric: Metric) -> Chart:
    """p50, p95 and p99 of each hour."""
    lines = [(name, percentile(metric, name)) for name in ("p50", "p95", "p99")]
    titles = {Metric.WAIT: _("Wait by hour: due → handed out"), Metric.RUN: _("Run by hour: handed out → acked")}
    return _by_hour(titles[metric], "ms", hours, lines, empty=nothing_measured(metric))


def percentile_of_namespaces(reports: Sequence[QueueReport]) -> Chart:
    """p95 of waiting in each hour, of each of the busiest namespaces: such figures of several cannot be added up."""
    return {
        "title": _("Wait p95 by hour, of the busiest namespaces"),
        "x": {"unit": "hour", "values": [*HOURS]},
        "y": axis("ms"),
        "series": [
            {"name": one.row.namespace, "values": hourly(one.hours, percentile(Metric.WAIT, "p95"), absent=None)}
            for one in reports[:LINES]
        ],
        "empty": _("Nothing was handed out on this day."),
    }


def backlog(hours: Sequence[Figures], *, until: int = 24) -> Chart:
    """Jobs that were there at the end of each hour; hours in which nothing happened leave it as it was."""
    known = {one.hour: one.backlog for one in hours}
    values: list[Value] = []
    for hour in HOURS:
        before = values[-1] if values else None
        values.append(None if hour >= until else known.get(hour, before))
    return {
        "title": _("Backlog at the end of each hour"),
        "x": {"unit": "hour", "values": [*HOURS]},
        "y": {"unit": "jobs"},
        "series": [{"name": _("jobs that are there"), "values": values, "style": "area"}],
        "empty": _("Not known: the day before has no report."),
    }


def comparison(title: str, unit: str, of: Of, days: Mapping[str, Sequence[Figures]]) -> Chart:
    """One figure of each hour on several days, named by the keys."""
    absent = 0 if unit == "jobs" else None
    return {
        "title": title,
        "x": {"unit": "hour", "values": [*HOURS]},
        "y": axis(unit),
        "series": [{"name": name, "values": hourly(hours, of, absent=absent)} for name, hours in days.items()],
        "empty": _("Nothing happened on these days."),
    }


def _by_hour(
    title: str,
    unit: str,
    hours: Sequence[Figures],
    lines: Sequence[tuple[str, Of]],
    *,
    until: int = 24,
    empty: str = "",
) -> Chart:
    absent = 0 if unit == "jobs" and hours else None
    return {
        "title": title,
        "x": {"unit": "hour", "values": [*HOURS]},
        "y": axis(unit),
        "series": [
            {"name": name, "values": [*hourly(hours, of, absent=absent)[:until], *[None] * (24 - until)]}
            for name, of in lines
        ],
        "empty": empty or _("Nothing happened on this day."),
    }
