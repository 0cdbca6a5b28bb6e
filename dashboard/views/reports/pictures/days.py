"""Days side by side as charts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time

from django.utils.translation import gettext as _

from queues.services.reporting.values import Figures, Metric, SeriesDay

from .parts import Chart, Of, axis, count, percentile


def day_by_day(days: Sequence[date], found: Mapping[date, Figures | None]) -> Chart:
    """Counts of each day. A day that `found` lacks has no report; None: nothing happened."""
    lines = [
        (_("published"), count("published")),
        (_("acked"), count("acked")),
        (_("failed attempts"), count("failed")),
        (_("dead"), count("dead")),
    ]
    nothing = Figures()
    return _by_day(
        _("Jobs by day"),
        "jobs",
        days,
        lines,
        lambda day: (found[day] or nothing) if day in found else None,
        empty=_("No day of this time has a report."),
    )


def percentiles_by_day(days: Sequence[SeriesDay], metric: Metric) -> Chart:
    """p50, p95 and p99 of each day."""
    found = {one.day: one.row.figures for one in days if one.row is not None}
    lines = [(name, percentile(metric, name)) for name in ("p50", "p95", "p99")]
    titles = {Metric.WAIT: _("Wait by day: due → handed out"), Metric.RUN: _("Run by day: handed out → acked")}
    nothing = _("No report of these days has figures for it.")
    return _by_day(titles[metric], "ms", [one.day for one in days], lines, found.get, empty=nothing)


def _by_day(
    title: str,
    unit: str,
    days: Sequence[date],
    lines: Sequence[tuple[str, Of]],
    find: Callable[[date], Figures | None],
    *,
    empty: str,
) -> Chart:
    found = [find(day) for day in days]
    return {
        "title": title,
        "x": {"unit": "day", "values": [_midnight_ms(day) for day in days]},
        "y": axis(unit),
        "series": [{"name": name, "values": [None if one is None else of(one) for one in found]} for name, of in lines],
        "empty": empty,
    }


def _midnight_ms(day: date) -> int:
    return int(datetime.combine(day, time(), UTC).timestamp() * 1000)
