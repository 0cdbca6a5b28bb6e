"""How numbers, times and links are written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.template import Context, Template
from django.test import RequestFactory
from django.utils import translation

from dashboard.formatting import age, brief_duration, compact, duration, number, per_second
from dashboard.sparkline import sparkline
from dashboard.templatetags.objectives import burn, tone
from dashboard.templatetags.taskq import when
from queues.services.objectives.burn_rates import WINDOWS, BurnRates, Deliveries
from tests.support.rows import in_one_test

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000


@in_one_test(
    ("milliseconds", "text"),
    [
        (None, "–"),
        (0, "0 ms"),
        (0.4, "0 ms"),
        (999, "999 ms"),
        (1_000, "1 s"),
        (1_540, "1.5 s"),
        (59_949, "59.9 s"),
        (93_000, "1 min 33 s"),
        (2 * MINUTE_MS, "2 min"),
        (HOUR_MS + 5 * MINUTE_MS, "1 h 5 min"),
        (3 * DAY_MS + 2 * HOUR_MS + 1, "3 d 2 h"),
    ],
)
def test_durations(milliseconds: float | None, text: str) -> None:
    assert duration(milliseconds) == text


@in_one_test(
    ("milliseconds", "text"),
    [
        (None, "–"),
        (0, "0 ms"),
        (999, "999 ms"),
        (999.6, "1 s"),
        (1_540, "1.5 s"),
        (59_990, "1 min"),
        (93_000, "1.6 min"),
        (HOUR_MS * 23.94, "23.9 h"),
        (DAY_MS * 150, "150 d"),
    ],
)
def test_durations_for_narrow_columns(milliseconds: float | None, text: str) -> None:
    assert brief_duration(milliseconds) == text


def test_durations_are_in_the_language_of_the_reader() -> None:
    with translation.override("zh-hans"):
        texts = [duration(93_000), duration(1_540), brief_duration(HOUR_MS * 23.94), age(DAY_MS * 2.5), age(7)]

    assert texts == ["1 分钟 33 秒", "1.5 秒", "23.9 小时", "2 天", "7 毫秒"]


@pytest.mark.parametrize(("milliseconds", "text"), [(None, "–"), (0, "0 ms"), (1_999, "1 s"), (DAY_MS * 2.5, "2 d")])
def test_ages(milliseconds: float | None, text: str) -> None:
    assert age(milliseconds) == text


@in_one_test(
    ("value", "whole", "short"),
    [
        (None, "–", "–"),
        (0, "0", "0"),
        (999, "999", "999"),
        (1_234, "1,234", "1.2 k"),
        (999_999, "999,999", "1 M"),
        (1_234_567, "1,234,567", "1.2 M"),
        (2_000_000_000, "2,000,000,000", "2 G"),
        (999.7, "999.7", "1 k"),
        (0.25, "0.2", "0.2"),
    ],
)
def test_numbers(value: float | None, whole: str, short: str) -> None:
    assert (number(value), compact(value)) == (whole, short)


def test_rates() -> None:
    assert (per_second(None), per_second(12.34), per_second(0)) == ("–", "12.3/s", "0/s")
    assert (per_second(1 / 60), per_second(0.05), per_second(0.0004)) == ("0.02/s", "0.1/s", "0/s")


def test_a_time_is_utc_for_machines_and_on_hover() -> None:
    text = when(1_700_000_000_123)

    assert text == (
        '<time datetime="2023-11-14T22:13:20.123Z" data-local="ago" title="2023-11-14 22:13:20 UTC">'
        "2023-11-14 22:13:20 UTC</time>"
    )
    abroad = datetime(2026, 1, 1, 8, tzinfo=timezone(timedelta(hours=8)))
    assert 'datetime="2026-01-01T00:00:00.000Z" data-local="date"' in when(abroad, "date")
    assert when(datetime(2026, 1, 1, tzinfo=UTC)) == when(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
    assert when(None) == "–"


def test_a_sparkline_reaches_from_zero_to_the_greatest_value() -> None:
    text = sparkline([0, 10, None, 5], label="jobs <a minute>")

    assert 'points="0.0,19.0 28.0,1.0 56.0,19.0 84.0,10.0"' in text
    assert 'aria-label="jobs &lt;a minute&gt;"' in text
    assert 'aria-hidden="true"' in sparkline([1, 2])
    assert sparkline([1]) == ""


def test_links_keep_the_other_filters() -> None:
    context = Context({"request": RequestFactory().get("/queues/?q=a%26b&page=3&sort=age")})
    link = Template("{% load taskq %}{% query sort='dead' page=None %}").render(context)

    assert link == "?q=a%26b&amp;sort=dead"


def burning(late: int, of: int = 1_000) -> BurnRates:
    """In every window: `late` deliveries, of which one in a hundred may be."""
    return BurnRates(target=0.99, deliveries=dict.fromkeys(WINDOWS, Deliveries(late, of)))


@in_one_test(
    ("late", "of", "text", "colour"),
    [
        (0, 0, "–", ""),
        (0, 1_000, "0×", ""),
        (5, 1_000, "0.5×", ""),
        (30, 1_000, "3×", "warn"),
        (144, 1_000, "14×", "bad"),
        (2_345, 200_000, "1.2×", "warn"),
    ],
)
def test_burn_rates(late: int, of: int, text: str, colour: str) -> None:
    assert (burn(burning(late, of), "1h"), tone(burning(late, of))) == (text, colour)
