"""The charts of reports, as the JSON that charts.js draws."""

from __future__ import annotations

from .days import day_by_day, percentiles_by_day
from .heat import busiest_hours, heat_height, hours_of_days
from .hours import backlog, comparison, flow, percentile_of_namespaces, percentiles
from .parts import Chart, Of
from .spreads import distribution, tries

__all__ = [
    "Chart",
    "Of",
    "backlog",
    "busiest_hours",
    "comparison",
    "day_by_day",
    "distribution",
    "flow",
    "heat_height",
    "hours_of_days",
    "percentile_of_namespaces",
    "percentiles",
    "percentiles_by_day",
    "tries",
]
