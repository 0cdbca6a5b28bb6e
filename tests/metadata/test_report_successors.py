"""A report that changes reopens the reports that follow from it, one after the other until one stays as it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Final

import pytest
from django.core.management import call_command
from django.test import override_settings
from django.utils import timezone

from queues.management.commands import runreport
from queues.models import ReportDay, ReportState
from queues.services.reporting.making.due_days import due_days, report_due_days
from queues.services.reporting.making.loading import Made
from queues.services.reporting.making.running import Listener, Order
from queues.services.reporting.making.upkeep import reopen_successors

from .reporting import add_day

TODAY: Final = date(2026, 4, 1)

pytestmark = pytest.mark.django_db


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Path]:
    lake = tmp_path / "lake"
    with override_settings(TASKQ_LAKE_URL=str(lake), TASKQ_REPORTS_URL=str(tmp_path / "reports")):
        yield lake


def back(days: int) -> date:
    return TODAY - timedelta(days=days)


def in_a_row(lake: Path, number: int) -> None:
    """Reports of so many days until yesterday, each of which took what the one before hands on."""
    for days in range(number, 0, -1):
        (lake / f"date={back(days)}").mkdir(parents=True)
        add_day(back(days), taken_over=f"of {back(days + 1)}", handed_on=f"of {back(days)}")


class Maker:
    """Makes reports that follow from those before them. `changes`: days whose backlogs come out otherwise.
    `has_files`: of the days before."""

    def __init__(self, *changes: date, has_files: bool = True) -> None:
        self.changes = changes
        self.has_files = has_files
        self.made: list[date] = []

    def make(self, days: Sequence[date]) -> bool:
        for day in days:
            self.made.append(day)
            before = ReportDay.objects.filter(pk=day - timedelta(days=1)).first()
            handed_on = f"of {day}" + (" anew" if day in self.changes else "")
            taken = before.handed_on if before and self.has_files else ""
            ties = {"taken_over": taken, "handed_on": handed_on}
            now = timezone.now()
            ReportDay.objects.filter(pk=day).update(state=ReportState.DONE, claimed_at=now, reported_at=now, **ties)
        return True

    def __call__(self, *, days: list[date], order: Order, listener: Listener) -> None:
        for day in days:
            self.make([day])
            listener.made(Made(day=day, events=1, rows=1, took_s=1.0, warnings=(), is_complete=True))


def test_as_long_as_nothing_has_changed_nothing_is_made_again(lake: Path) -> None:
    in_a_row(lake, 4)

    assert reopen_successors(today=TODAY) == []


def test_a_report_made_anew_by_hand_takes_those_along_that_follow_until_one_stays(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_row(lake, 5)
    maker = Maker(back(5), back(4))
    monkeypatch.setattr(runreport, "make_reports", maker)

    call_command("runreport", "--date", str(back(5)), "--quiet")

    assert maker.made == [back(5), back(4), back(3)]
    taken = dict(ReportDay.objects.values_list("date", "taken_over"))
    assert taken[back(3)] == f"of {back(4)} anew"


def test_so_it_is_at_night(lake: Path) -> None:
    in_a_row(lake, 5)
    ReportDay.objects.filter(pk=back(5)).update(handed_on="other", reported_at=timezone.now())
    maker = Maker(back(4), back(3))

    report_due_days(today=lambda: TODAY, make=maker.make)

    assert maker.made == [back(4), back(3), back(2)]


def test_a_day_that_was_made_before_the_one_before_it_is_made_again(lake: Path) -> None:
    in_a_row(lake, 2)
    earlier = timezone.now() - timedelta(hours=1)
    ReportDay.objects.filter(pk=back(1)).update(taken_over="", claimed_at=earlier, reported_at=earlier)

    assert reopen_successors(today=TODAY) == [back(1)]

    assert due_days(today=TODAY) == [back(1)]
    assert "has changed since" in ReportDay.objects.get(pk=back(1)).error


def test_what_was_deleted_from_the_lake_and_reports_that_hand_nothing_on_are_left_alone(lake: Path) -> None:
    in_a_row(lake, 4)
    ReportDay.objects.filter(pk=back(4)).update(handed_on="other", reported_at=timezone.now())
    (lake / f"date={back(3)}").rmdir()
    ReportDay.objects.filter(pk=back(2)).update(handed_on="", reported_at=timezone.now())

    assert reopen_successors(today=TODAY) == []


def test_where_the_files_of_the_day_before_are_gone_a_report_is_not_made_again_and_again(lake: Path) -> None:
    in_a_row(lake, 3)
    ReportDay.objects.filter(pk=back(1)).update(state=ReportState.FAILED)
    maker = Maker(has_files=False)

    for _minute in range(3):  # the pump starts the command whenever a day is due
        if due_days(today=TODAY):
            report_due_days(today=lambda: TODAY, make=maker.make)

    assert maker.made == [back(1)]
    assert due_days(today=TODAY) == []
