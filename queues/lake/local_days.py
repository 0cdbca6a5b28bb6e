"""Days of a time zone: when they begin and end, and the hours of UTC that they are made of.

A day lasts from one local midnight to the next: 23, 24 or 25 hours where clocks are changed. Its hours are those that
clocks show: of two that bear the same number the day has one, with both; the one that is passed over it has not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

QUARTER = timedelta(minutes=15)
HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)


class UnknownZoneError(ValueError):
    """No time zone of that name, or one whose clocks do not differ from UTC by quarters of an hour."""


@cache
def find_zone(name: str) -> ZoneInfo:
    """The zone of that name in the IANA database. Raises UnknownZoneError."""
    if name not in available_timezones():
        raise UnknownZoneError(f"{name}: no time zone of the IANA database, such as Europe/Berlin or Asia/Kolkata")
    zone = ZoneInfo(name)
    now = datetime.now(UTC)
    for months in range(12):
        offset = (now + timedelta(days=30 * months)).astimezone(zone).utcoffset() or timedelta()
        if offset % QUARTER:
            raise UnknownZoneError(f"{name}: its clocks differ from UTC by {offset}, not by quarters of an hour")
    return zone


def bounds_of(day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """When the day begins and ends, in UTC. Both are the same of a day that the zone passed over."""
    begin, end = (datetime.combine(one, datetime.min.time(), zone).astimezone(UTC) for one in (day, day + _DAY))
    return begin, end


def last_utc_day(day: date, zone: ZoneInfo) -> date:
    """The day of UTC in which it ends; midnight belongs to the day that ends then."""
    return (bounds_of(day, zone)[1] - timedelta(microseconds=1)).date()


def utc_days_of(day: date, zone: ZoneInfo) -> frozenset[date]:
    """The days of UTC in which it lies."""
    begin, last = bounds_of(day, zone)[0].date(), last_utc_day(day, zone)
    return frozenset(begin + timedelta(days=number) for number in range((last - begin).days + 1))


class Stretch(NamedTuple):
    """An hour of UTC, or a `quarter` 0 to 3 of one, as `hour` of a local day; None: it is behind its end."""

    date: date
    utc_hour: int
    quarter: int
    hour: int | None


def stretches(day: date, zone: ZoneInfo, *, until: datetime) -> Iterator[Stretch]:
    """The quarters of hours from the beginning of the day until that time, which is on a full hour."""
    at, end = bounds_of(day, zone)
    at = datetime.fromtimestamp(at.timestamp() // QUARTER.seconds * QUARTER.seconds, UTC)
    while at < until:
        hour = at.astimezone(zone).hour if at < end else None
        yield Stretch(at.date(), at.hour, at.minute // 15, hour)
        at += QUARTER


def has_whole_hours(day: date, zone: ZoneInfo) -> bool:
    """Whether hours of the day are hours of UTC."""
    at, end = bounds_of(day, zone)
    while at <= end:
        if at.minute or at.astimezone(zone).minute:
            return False
        at += HOUR
    return True


def uneven_hours(day: date, zone: ZoneInfo) -> frozenset[int]:
    """The hours 0 to 23 that the day has not, has twice, or in part."""
    quarters: dict[int, int] = dict.fromkeys(range(24), 0)
    for one in stretches(day, zone, until=bounds_of(day, zone)[1]):
        quarters[one.hour or 0] += 1
    return frozenset(hour for hour, count in quarters.items() if count != 4)


FOLDER = "local="
SO_FAR = "-so-far"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalDay:
    """A day of namespaces, each in its zone: (pool, namespace) → zone. `is_complete`: it is over in all of them."""

    day: date
    is_complete: bool
    zones: dict[tuple[str, str], str]

    @property
    def folder(self) -> str:
        """Of its tables, below a run."""
        return f"{FOLDER}{self.day.isoformat()}{'' if self.is_complete else SO_FAR}"

    @property
    def utc_days(self) -> frozenset[date]:
        """The days of UTC in which it lies, in any of its zones."""
        return frozenset().union(*(utc_days_of(self.day, find_zone(zone)) for zone in set(self.zones.values())))

    def as_dict(self) -> dict[str, object]:
        """As `read` has it."""
        namespaces = [[*names, zone] for names, zone in sorted(self.zones.items())]
        return {"date": self.day.isoformat(), "complete": self.is_complete, "namespaces": namespaces}

    @classmethod
    def read(cls, told: dict[str, object]) -> LocalDay:
        """Raises KeyError, TypeError, ValueError, UnknownZoneError for what `as_dict` has not written."""
        namespaces = told["namespaces"]
        if not isinstance(namespaces, list):
            raise TypeError(namespaces)
        zones = {(str(pool), str(namespace)): str(zone) for pool, namespace, zone in namespaces}
        for zone in zones.values():
            find_zone(zone)
        return cls(day=date.fromisoformat(str(told["date"])), is_complete=bool(told["complete"]), zones=zones)
