"""When days of time zones begin and end, and which hours of UTC they are made of."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest

from queues.lake import local_days
from queues.lake.local_days import (
    LocalDay,
    UnknownZoneError,
    bounds_of,
    find_zone,
    has_whole_hours,
    last_utc_day,
    stretches,
    uneven_hours,
    utc_days_of,
)
from tests.support.rows import in_one_test

D = date(2026, 3, 29)


@in_one_test(
    ("zone", "day", "begin", "hours", "uneven"),
    [
        ("Europe/Berlin", D, "2026-03-28T23:00", 23, {2}),
        ("Europe/Berlin", date(2026, 10, 25), "2026-10-24T22:00", 25, {2}),
        ("Asia/Kolkata", D, "2026-03-28T18:30", 24, set()),
        ("Asia/Kathmandu", D, "2026-03-28T18:15", 24, set()),
        ("Pacific/Kiritimati", D, "2026-03-28T10:00", 24, set()),
        ("Pacific/Pago_Pago", D, "2026-03-29T11:00", 24, set()),
        ("Australia/Lord_Howe", date(2026, 4, 5), "2026-04-04T13:00", 24.5, {1}),
        ("Africa/Cairo", date(2026, 4, 24), "2026-04-23T22:00", 23, {0}),  # midnight is passed over
        ("Africa/Cairo", date(2026, 10, 29), "2026-10-28T21:00", 25, {23}),  # and comes twice
        ("Pacific/Apia", date(2011, 12, 30), "2011-12-30T10:00", 0, {*range(24)}),  # so was a whole day
    ],
)
def test_a_day_lasts_from_midnight_to_midnight(
    zone: str, day: date, begin: str, hours: float, uneven: set[int]
) -> None:
    found, end = bounds_of(day, ZoneInfo(zone))

    assert (found, end - found) == (datetime.fromisoformat(begin).replace(tzinfo=UTC), timedelta(hours=hours))
    assert uneven_hours(day, ZoneInfo(zone)) == uneven
    assert len([*stretches(day, ZoneInfo(zone), until=end)]) == hours * 4
    if hours:
        assert last_utc_day(day, ZoneInfo(zone)) in utc_days_of(day, ZoneInfo(zone))


def test_each_quarter_of_an_hour_is_in_one_day_of_each_zone() -> None:
    """Of one zone in seven, in the weeks in which clocks are changed."""
    for name in sorted(available_timezones())[::7]:
        zone = find_zone(name)
        for first in (date(2026, 3, 27), date(2026, 10, 23)):
            days = [first + timedelta(days=number) for number in range(4)]
            found = [
                (one.date, one.utc_hour, one.quarter)
                for day in days
                for one in stretches(day, zone, until=bounds_of(day, zone)[1])
            ]
            begin, end = bounds_of(days[0], zone)[0], bounds_of(days[-1], zone)[1]
            assert len(set(found)) == len(found) == (end - begin) / timedelta(minutes=15), name
            assert all(len(utc_days_of(day, zone)) <= 2 for day in days), name


def test_behind_the_end_of_the_day_there_is_no_hour() -> None:
    midnight = datetime(2026, 3, 30, tzinfo=UTC)
    found = [one for one in stretches(D, find_zone("Asia/Shanghai"), until=midnight) if one.hour is None]

    assert (found[0].date, found[0].utc_hour) == (D, 16)
    assert len(found) == 8 * 4


def test_only_zones_of_whole_hours_are_made_of_hours_of_utc() -> None:
    assert [has_whole_hours(D, find_zone(zone)) for zone in ("Europe/Berlin", "Asia/Kolkata")] == [True, False]
    assert not has_whole_hours(date(2026, 4, 5), find_zone("Australia/Lord_Howe"))


def test_a_local_day_is_read_as_it_was_written() -> None:
    local = LocalDay(day=D, is_complete=True, zones={("default", "a"): "Europe/Berlin", ("p", "b"): "Asia/Tokyo"})

    assert LocalDay.read(local.as_dict()) == local
    assert local.utc_days == {D - timedelta(days=1), D}
    with pytest.raises(UnknownZoneError):
        LocalDay.read(local.as_dict() | {"namespaces": [["default", "a", "Moon/Base"]]})


def test_a_zone_whose_clocks_differ_by_odd_minutes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of Amsterdam did until 1937."""

    class Past(datetime):
        @classmethod
        def now(cls, tz: object = None) -> Past:
            return cls(1930, 1, 1, tzinfo=UTC)

    find_zone.cache_clear()
    monkeypatch.setattr(local_days, "datetime", Past)
    with pytest.raises(UnknownZoneError, match="not by quarters of an hour"):
        find_zone("Africa/Monrovia")
    find_zone.cache_clear()
