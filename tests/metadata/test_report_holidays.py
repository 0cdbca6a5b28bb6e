"""TASKQ_HOLIDAYS: which days reports are told not to compare."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from queues.services.reporting.failures import BadHolidaysError
from queues.services.reporting.making.holidays import holidays_between
from taskq_site.env import EnvError, read_holidays
from tests.support.rows import in_one_test


def test_dates_and_countries_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "2026-12-24, DE-BY ,CN")

    assert read_holidays("X") == [date(2026, 12, 24), "DE-BY", "CN"]


@in_one_test("text", ["24.12.2026", "2026-02-30", "Germany", "de", "DE_BY"])
def test_what_is_neither_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("X", text)

    with pytest.raises(EnvError, match=f"X: {text}: expected dates such as"):
        read_holidays("X")


def test_holidays_of_a_range_are_those_of_all_that_is_named(settings: Any) -> None:
    settings.TASKQ_HOLIDAYS = [date(2026, 12, 24), date(2025, 12, 24), "DE-BY"]

    found = holidays_between(date(2026, 12, 20), date(2027, 1, 6))

    assert found == [date(2026, 12, day) for day in (24, 25, 26)] + [date(2027, 1, 1), date(2027, 1, 6)]


@pytest.mark.parametrize("code", ["XX", "DE-XYZ"])
def test_a_country_that_is_not_known_is_named(settings: Any, code: str) -> None:
    settings.TASKQ_HOLIDAYS = [code]

    with pytest.raises(BadHolidaysError, match=f"TASKQ_HOLIDAYS: {code}: "):
        holidays_between(date(2026, 1, 1), date(2026, 12, 31))
