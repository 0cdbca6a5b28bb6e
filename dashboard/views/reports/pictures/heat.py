"""Heat maps: a row for each queue or day, a column for each hour."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Final

from django.utils.translation import gettext as _

from queues.services.reporting.merging import QueueHours
from queues.services.reporting.values import Figures, SeriesDay

from .parts import HOURS, Chart, Of, hourly

ROW_PX: Final = 22
BELOW_PX: Final = 34


def busiest_hours(rows: Sequence[QueueHours], *, of: Of, title: str, unit: str = "jobs") -> Chart:
    """A row for each queue, named with its namespace if there are several."""
    is_one = len({(one.row.pool, one.row.namespace) for one in rows}) == 1
    named = [(one.row.queue if is_one else f"{one.row.namespace}/{one.row.queue}", one.hours) for one in rows]
    return _heat(title, unit, named, of)


def hours_of_days(days: Sequence[SeriesDay], *, of: Of, title: str, unit: str, names: Callable[[date], str]) -> Chart:
    """A row for each day."""
    return _heat(title, unit, [(names(one.day), one.hours if one.has_report else None) for one in days], of)


def heat_height(rows: int) -> int:
    """Pixels for so many rows."""
    return rows * ROW_PX + BELOW_PX


def _heat(title: str, unit: str, rows: Sequence[tuple[str, Sequence[Figures] | None]], of: Of) -> Chart:
    absent = 0 if unit == "jobs" else None
    return {
        "title": title,
        "x": {"unit": "hour", "values": [*HOURS]},
        "y": {"unit": unit},
        "series": [
            {"name": name, "values": [None] * 24 if hours is None else hourly(hours, of, absent=absent)}
            for name, hours in rows
        ],
        "empty": _("Nothing happened on this day."),
    }
