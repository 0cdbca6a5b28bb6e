"""What `/metrics` says of the lake and of reports."""

from __future__ import annotations

import re
from datetime import time, timedelta
from typing import Any

import pytest
from django.utils import timezone

from queues.api.metrics.exposition import Page
from queues.api.metrics.page import add_reports
from queues.models import LakeMeasurement, ReportState
from queues.services.reporting.reading.days import yesterday
from queues.services.reporting.reading.measures import read_measures
from tests.package.wheel import ROOT
from tests.support.exposition import read_page

from .reporting import add_day

pytestmark = pytest.mark.django_db

NIGHT = time(0, 10)


def shown() -> dict[str, dict[str, float]]:
    """The one label of each sample → its number, by metric."""
    page = Page()
    add_reports(page, read_measures())
    return {
        name.removeprefix("taskq_"): {
            next((value for _, value in labels), ""): number for (_, labels), number in family.samples.items()
        }
        for name, family in read_page(page.text()).items()
        if family.samples
    }


def balance(pool: str, difference: int) -> dict[str, Any]:
    numbers = {"appended": 10, "in_lake": 10 - difference, "damaged": 0, "dropped": 0, "dropped_around": 0}
    return {"pool": pool, **numbers, "difference": difference}


def test_what_was_never_measured_has_no_sample() -> None:
    assert shown() == {"report_state": {"done": 0, "running": 0, "failed": 0, "missing": 1}}


def test_age_time_and_difference_are_of_the_newest_report_of_a_whole_day() -> None:
    now = timezone.now()
    add_day(yesterday() + timedelta(days=1), complete=False, reported_at=now, took_s=1.0)
    add_day(
        yesterday() - timedelta(days=1),
        reported_at=now - timedelta(hours=5),
        took_s=61.5,
        reconciliation=[balance("default", 3), balance("other", -2)],
    )
    add_day(
        yesterday() - timedelta(days=2),
        reported_at=now,
        reconciliation=[balance("default", 9)],
    )
    LakeMeasurement.objects.create(measured_at=now, bytes=12_345, files=3, days=2)

    found = shown()

    assert 5 * 3_600 <= found.pop("report_age_seconds")[""] < 5 * 3_600 + 60
    assert found == {
        "report_duration_seconds": {"": 61.5},
        "lake_difference_events": {"default": 3, "other": -2},
        "lake_bytes": {"": 12_345},
        "report_state": {"done": 0, "running": 0, "failed": 0, "missing": 1},
    }


def overdue_after_s() -> int:
    """As the shipped alert has it."""
    rules = (ROOT / "docs" / "prometheus" / "alerts.yml").read_text(encoding="utf-8")
    (bound,) = re.findall(r"expr: max\(taskq_report_age_seconds\) > (\d+)$", rules, re.MULTILINE)
    return int(bound)


@pytest.mark.parametrize(
    ("first_day", "report_at", "is_overdue"),
    [(0, NIGHT, None), (-1, NIGHT, False), (-3, NIGHT, True), (-3, None, None), (None, NIGHT, None)],
)
def test_a_report_is_overdue_also_where_none_was_ever_made(
    first_day: int | None, report_at: time | None, is_overdue: bool | None, settings: Any
) -> None:
    settings.TASKQ_REPORT_AT = report_at
    today = yesterday() + timedelta(days=1)
    add_day(today, complete=False, reported_at=timezone.now())
    LakeMeasurement.objects.create(
        measured_at=timezone.now(),
        bytes=1,
        files=1,
        days=1,
        first_day=None if first_day is None else today + timedelta(days=first_day),
    )

    age = shown().get("report_age_seconds")

    assert (age and age[""] > overdue_after_s()) is is_overdue


@pytest.mark.parametrize("state", ReportState.values)
def test_the_state_is_that_of_yesterdays_report(state: str) -> None:
    add_day(yesterday(), state=state)
    add_day(yesterday() - timedelta(days=1))
    assert shown()["report_state"] == dict.fromkeys(["done", "running", "failed", "missing"], 0) | {state: 1}
