"""Days that are not compared with the same weekday of past weeks: TASKQ_HOLIDAYS."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from django.conf import settings

from ..failures import BadHolidaysError


def holidays_between(begin: date, end: date) -> list[date]:
    """Those of a range, ends included, in order. Raises BadHolidaysError."""
    found: set[date] = set()
    for item in settings.TASKQ_HOLIDAYS:
        found |= {item} if isinstance(item, date) else _of_country(item, range(begin.year, end.year + 1))
    return sorted(day for day in found if begin <= day <= end)


def _of_country(code: str, years: Iterable[int]) -> set[date]:
    """`code`: of ISO 3166, `DE`, or with a part of the country, `DE-BY`."""
    try:
        import holidays  # a large package, of which reports alone have need
    except ModuleNotFoundError as error:
        raise BadHolidaysError(
            f"TASKQ_HOLIDAYS names the country {code}, which takes a package: pip install 'taskq[reports]'"
        ) from error
    country, _, part = code.partition("-")
    try:
        return set(holidays.country_holidays(country, subdiv=part or None, years=years))
    except NotImplementedError as error:
        raise BadHolidaysError(f"TASKQ_HOLIDAYS: {code}: {error}") from error
