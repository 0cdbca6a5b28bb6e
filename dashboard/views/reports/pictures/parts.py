"""What the charts of reports have in common. Hours and days are UTC's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from django.utils.translation import gettext as _

from queues.services.reporting.values import Figures, Metric

HOURS: Final = range(24)

Chart = dict[str, Any]
"""As charts.js takes it."""

Value = float | None
Of = Callable[[Figures], Value]
"""Which figure is drawn."""


def axis(unit: str) -> Chart:
    """Percentiles lie far apart: on a plain scale p99 would press all others to the ground."""
    return {"unit": unit, "scale": "log"} if unit == "ms" else {"unit": unit}


def hourly(hours: Sequence[Figures], of: Of, *, absent: Value) -> list[Value]:
    """One value for each of HOURS; `absent`: of an hour in which nothing happened."""
    found = {one.hour: of(one) for one in hours}
    return [found.get(hour, absent) for hour in HOURS]


def count(name: str) -> Of:
    """A column of that name."""
    return lambda figures: getattr(figures, name)


def percentile(metric: Metric, name: str) -> Of:
    """p50, p90, p95 or p99 of a metric."""
    return lambda figures: getattr(figures.spread(metric), name)


def nothing_measured(metric: Metric) -> str:
    """What stands where there is nothing to draw."""
    return _("Nothing was acked on this day.") if metric is Metric.RUN else _("Nothing was handed out on this day.")
