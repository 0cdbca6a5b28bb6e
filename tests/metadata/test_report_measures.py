"""What `/metrics` says of the lake and of reports."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from queues.api.metrics.exposition import Page
from queues.api.metrics.page import add_reports
from queues.models import LakeMeasurement, ReportState
from queues.services.reporting.reading.days import yesterday
from queues.services.reporting.reading.measures import read_measures
from tests.support.exposition import read_page

from .reporting import add_day

pytestmark = pytest.mark.django_db


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


@pytest.mark.parametrize("state", ReportState.values)
def test_the_state_is_that_of_yesterdays_report(state: str) -> None:
    add_day(yesterday(), state=state)
    add_day(yesterday() - timedelta(days=1))
    assert shown()["report_state"] == dict.fromkeys(["done", "running", "failed", "missing"], 0) | {state: 1}
