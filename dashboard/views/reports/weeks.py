"""The picker: five weeks of days as a calendar, and how each one's report stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from django.utils.formats import date_format

from queues.services.reporting.days import today
from queues.services.reporting.values import DayEntry, DayState

from .places import FIRST_DAY, Place

WEEKS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PickedDay:
    """A day of the picker. `url` "": it has no page. `begins_month`: the month's name belongs beside it."""

    entry: DayEntry
    url: str
    is_shown: bool
    begins_month: bool

    @property
    def mark(self) -> str:
        """reported, demo, running, failed, kept (failed, but an earlier report is there), missing or none."""
        entry = self.entry
        if not self.url:
            return "none"
        if entry.state is DayState.RUNNING:
            return "failed" if entry.is_stalled else "running"
        if entry.state is DayState.FAILED:
            return "kept" if entry.has_report else "failed"
        if entry.state is DayState.MISSING:
            return "missing"
        return "demo" if entry.is_demo else "reported"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picker:
    """`earlier`, `later`: pages of the days that lie a picker's length away; "" if there are none."""

    days: tuple[PickedDay, ...]
    before: str
    after: str
    earlier: str
    later: str


def short_weekday(day: date) -> str:
    """`Wed`. Chinese abbreviations are as long as the names, and differ in their last character only."""
    name = date_format(day, "D")
    return name if name.isascii() else name[-1]


def make_picker(*, place: Place, shown: date, known: Sequence[DayEntry]) -> Picker:
    """Whole weeks, Monday to Sunday: the latest ones if `shown` is in these, else those that end with its week."""
    by_day = {entry.day: entry for entry in known}
    newest = max([shown, today(), *by_day])
    end = newest if (newest - shown).days < 7 * (WEEKS - 1) else shown
    last = end + timedelta(days=6 - end.weekday())
    span = [last - timedelta(days=back) for back in reversed(range(7 * WEEKS))]
    first_known = min(by_day, default=shown)

    def url_of(day: date) -> str:
        return place.url(day) if FIRST_DAY <= day <= today() else ""

    return Picker(
        days=tuple(
            PickedDay(
                entry=by_day.get(day, DayEntry(day=day, state=DayState.MISSING)),
                url=url_of(day),
                is_shown=day == shown,
                begins_month=day.day == 1 or day == span[0],
            )
            for day in span
        ),
        before=url_of(shown - timedelta(days=1)),
        after=url_of(shown + timedelta(days=1)),
        earlier=url_of(span[0] - timedelta(days=1)) if first_known < span[0] else "",
        later=url_of(min(last + timedelta(days=7 * WEEKS), today())) if last < today() else "",
    )
