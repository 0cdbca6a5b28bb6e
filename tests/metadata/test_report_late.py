"""Events that come into the lake after their day's report: the report is made again, and those of the days after it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest
from django.test import override_settings

from queues.models import ReportDay, ReportState
from queues.services.reporting.making.due_days import due_days, report_due_days
from queues.services.reporting.making.upkeep import LATE_DAYS, compact_closed_hours, reopen_late_days
from tests.support.reports import at, event, write_events, write_report

from .reporting import Place, add_day

TODAY: Final = date(2026, 4, 1)

pytestmark = pytest.mark.django_db


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(root=tmp_path)
    with override_settings(TASKQ_LAKE_URL=str(tmp_path / "lake"), TASKQ_REPORTS_URL=str(place.out)):
        yield place


def back(days: int) -> date:
    return TODAY - timedelta(days=days)


def happen(place: Place, days: int, events: int = 1, hour: int = 9) -> None:
    made = [event("published", at(back(days), hour, seconds=number), job="01J") for number in range(events)]
    write_events(place.root / "lake", made)


def report(place: Place, days: int, lake_rows: int = 1) -> None:
    write_report(place.out, back(days), "earlier", {}, lake_rows=lake_rows)
    add_day(back(days))


def test_a_report_that_has_all_events_stays(place: Place) -> None:
    happen(place, 1, 2)
    report(place, 1, lake_rows=2)

    assert reopen_late_days(today=TODAY) == []

    assert ReportDay.objects.get().state == ReportState.DONE


def test_a_day_with_late_events_is_due_again_and_so_are_those_after_it(place: Place) -> None:
    for days in (1, 2, 3):
        happen(place, days)
        report(place, days)
    happen(place, 2, hour=23)

    assert reopen_late_days(today=TODAY) == [back(2), back(1)]

    assert due_days(today=TODAY) == [back(2), back(1)]
    day = ReportDay.objects.get(pk=back(2))
    assert (day.failures, day.reported_run) == (0, "earlier")
    assert f"Events of {back(2)} came into the lake after its report" in day.error
    assert reopen_late_days(today=TODAY) == []


def test_at_night_they_are_made_with_those_that_are_due(place: Place) -> None:
    happen(place, 2, 2)
    report(place, 2)
    happen(place, 1)
    asked: list[date] = []

    def make(days: Sequence[date]) -> bool:
        asked.extend(days)
        return False

    report_due_days(today=lambda: TODAY, make=make)

    assert asked == [back(2), back(1)]


def test_what_was_deleted_from_the_lake_keeps_its_report(place: Place) -> None:
    happen(place, 2, 2)
    report(place, 2)
    report(place, 1)

    assert reopen_late_days(today=TODAY) == [back(2)]


def test_old_days_half_days_and_reports_that_do_not_say_what_they_saw_are_left_alone(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    for days in (1, 2, 3, LATE_DAYS + 1):
        happen(place, days, 2)
    report(place, LATE_DAYS + 1)
    write_report(place.out, back(3), "earlier", {})
    add_day(back(3))
    add_day(back(2))
    report(place, 1)
    ReportDay.objects.filter(pk=back(1)).update(complete=False)

    with caplog.at_level(logging.WARNING):
        assert reopen_late_days(today=TODAY) == []

    assert [record.__dict__["day"] for record in caplog.records] == [str(back(2))]


@pytest.mark.parametrize(("minutes", "compacted"), [(5, []), (6, [9]), (66, [9, 10])])
def test_hours_of_today_are_compacted_when_their_last_events_are_in_the_lake(
    place: Place, minutes: int, compacted: list[int]
) -> None:
    for hour in (9, 10, 11):
        for second in (1, 2):
            write_events(place.root / "lake", [event("published", at(TODAY, hour, seconds=second), job="01J")])
    now = datetime(TODAY.year, TODAY.month, TODAY.day, 10, tzinfo=UTC) + timedelta(minutes=minutes)

    with override_settings(TASKQ_LAKE_EVERY_S=300):
        compact_closed_hours(now=now)

    folder = place.root / "lake" / f"date={TODAY}"
    assert [hour for hour in (9, 10, 11) if list(folder.glob(f"hour={hour:02d}/compact-*"))] == compacted


@pytest.mark.parametrize(("minutes", "compacted"), [(5, [22]), (6, [22, 23])])
def test_so_is_the_last_hour_of_yesterday(place: Place, minutes: int, compacted: list[int]) -> None:
    for hour in (22, 23):
        for second in (1, 2):
            write_events(place.root / "lake", [event("published", at(back(1), hour, seconds=second), job="01J")])
    midnight = datetime(TODAY.year, TODAY.month, TODAY.day, tzinfo=UTC)

    with override_settings(TASKQ_LAKE_EVERY_S=300):
        compact_closed_hours(now=midnight + timedelta(minutes=minutes))

    folder = place.root / "lake" / f"date={back(1)}"
    assert [hour for hour in (22, 23) if list(folder.glob(f"hour={hour:02d}/compact-*"))] == compacted
