"""What a chart tells under the pointer and the arrow keys: values, and their moments here and in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.looking import keep_picture, sticks_out, wait_for_charts

NOON: Final = datetime(2026, 7, 1, 10, tzinfo=UTC)
"""In Berlin, where the tests' browsers are, it is twelve."""

LATE: Final = datetime(2026, 7, 1, 22, 30, tzinfo=UTC)
"""There it is the next day."""


def draw(page: Page, *moments: datetime) -> Locator:
    """The overview, whose charts have these minutes; the first of them."""
    times = [round(moment.timestamp() * 1000) for moment in moments]
    chart = {
        "title": "Throughput",
        "y": {"unit": "jobs/min"},
        "series": [{"name": "published", "meaning": "published", "values": [7] * len(times), "style": "line"}],
    }
    told = {
        "x": {"unit": "time", "values": times},
        "charts": dict.fromkeys(("throughput", "backlog", "wait", "run"), chart),
    }
    page.route("**/overview/charts?*", lambda route: route.fulfill(json=told))
    page.goto("/")
    wait_for_charts(page)
    return page.locator(".chart-plot").first


@pytest.mark.parametrize(
    ("wish", "moment", "told"),
    [
        ("en-US", NOON, "Jul 1, 2026, 12:00:00 (10:00:00 UTC)"),
        ("en-US", LATE, "Jul 2, 2026, 00:30:00 (Jul 1, 2026, 22:30:00 UTC)"),
        ("zh-CN", NOON, "2026年7月1日 12:00:00 (10:00:00 UTC)"),
    ],
)
def test_the_keys_tell_the_readers_time_and_utcs(wish: str, moment: datetime, told: str, open_page: OpenPage) -> None:
    page = open_page(wish=wish)
    plot = draw(page, NOON.replace(hour=1), moment)

    plot.focus()
    page.keyboard.press("End")

    read = plot.get_by_role("status")
    expect(read.locator("strong")).to_have_text(told)
    expect(read).to_contain_text("7")
    keep_picture(page, f"chart-read-{wish}-{moment:%H}", full_page=False)


def test_the_pointer_and_the_numbers_tell_the_same(page: Page) -> None:
    plot = draw(page, NOON)

    plot.hover()

    expect(plot.get_by_role("status").locator("strong")).to_have_text("Jul 1, 2026, 12:00:00 (10:00:00 UTC)")
    page.get_by_text("Show numbers").first.click()
    expect(page.locator(".chart-numbers tbody th").first).to_have_text(re.compile(r"\(10:00:00 UTC\)$"))


def test_what_is_read_stays_within_a_phone(phone: Page) -> None:
    plot = draw(phone, NOON, LATE)

    for key in ("Home", "End"):
        plot.focus()
        phone.keyboard.press(key)
        expect(plot.get_by_role("status")).to_be_visible()
        assert sticks_out(phone) == []
    keep_picture(phone, "chart-read-phone", full_page=False)
