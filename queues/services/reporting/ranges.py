"""Which days somebody means who asks for reports."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from .days import today, yesterday
from .failures import BadRangeError

RANGE_MAX: Final = 366
"""Days of one command."""


def parse_day(text: str) -> date:
    """`2026-11-21`. Raises BadRangeError."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise BadRangeError(f"{text} is no date: expected YYYY-MM-DD, such as {yesterday()}") from None


def days_between(*, begin: date, end: date) -> list[date]:
    """Both included, the earliest first. Raises BadRangeError if there are none, too many, or some in the future."""
    if begin > end:
        raise BadRangeError(f"{begin} is after {end}: nothing to report")
    if end > today():
        raise BadRangeError(f"{end} has not begun yet (it is {today()} UTC): there is nothing to report")
    count = (end - begin).days + 1
    if count > RANGE_MAX:
        raise BadRangeError(f"{begin} to {end} are {count} days; at most {RANGE_MAX} can be reported at once")
    return [begin + timedelta(days=number) for number in range(count)]
