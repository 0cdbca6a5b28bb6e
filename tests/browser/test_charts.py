"""What a chart tells under the pointer and the arrow keys: values, and their moments here and in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import OpenPage
from tests.browser.looking import find_barriers, keep_picture, sticks_out, wait_for_charts

NOON: Final = datetime(2026, 7, 1, 10, tzinfo=UTC)
"""In Berlin, where the tests' browsers are, it is twelve."""

HOUR_MS: Final = 3_600_000
BEGIN_MS: Final = round(NOON.timestamp() * 1_000)

LATE: Final = datetime(2026, 7, 1, 22, 30, tzinfo=UTC)
"""There it is the next day."""


def told(times: list[int]) -> dict[str, Any]:
    """An answer to the charts of the overview, with an incident and a deploy at the second of these times."""
    series = [
        {"name": name, "meaning": name, "values": [count] * len(times), "style": "line"}
        for name, count in (("published", 7), ("acked", 5))
    ]
    chart = {
        "title": "Throughput",
        "y": {"unit": "jobs/min"},
        "series": series,
        "lines": [{"value": 9, "name": "goal"}],
    }
    incident = {
        "kind": "incident",
        "severity": "critical",
        "at": times[-1],
        "until": None,
        "title": "orders: Dead letters",
    }
    deploy = {"kind": "deploy", "severity": "", "at": times[-1], "until": None, "title": "shop: v7 deployed", "url": ""}
    return {
        "x": {"unit": "time", "values": times},
        "charts": dict.fromkeys(("throughput", "backlog", "wait", "run"), chart),
        "events": [incident | {"url": "/incidents/1/"}, deploy],
    }


def draw(page: Page, *moments: datetime) -> Locator:
    """The overview, whose charts have these minutes; the first of them."""
    times = [round(moment.timestamp() * 1000) for moment in moments]
    page.route("**/overview/charts?*", lambda route: route.fulfill(json=told(times)))
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


def test_one_time_holds_for_all_charts_and_is_in_the_address(page: Page) -> None:
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(urlsplit(route.request.url).query)
        given = parse_qs(asked[-1])
        until = int(given["to"][0]) if "to" in given else BEGIN_MS + HOUR_MS
        since = int(given["from"][0]) if "from" in given else BEGIN_MS
        route.fulfill(json=told([since, (since + until) // 2, until]))

    page.route("**/overview/charts?*", answer)
    page.goto("/?range=6h")
    plot = page.locator("figure[data-part=wait] .chart-plot")
    expect(plot.locator("svg .chart-line")).to_have_count(2)
    assert asked == ["range=6h"], "one answer for all charts"

    page.get_by_role("link", name="15 min").click()
    expect(page.get_by_role("link", name="15 min")).to_have_attribute("aria-current", "true")
    expect(page).to_have_url(re.compile(r"/\?range=15m$"))

    plot.scroll_into_view_if_needed()  # incidents of other tests may stand above
    box = plot.locator("svg[role=img]").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 + 150, box["y"] + 40, steps=3)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"/\?from=\d+&to=\d+$"))
    shown = page.locator("[data-range]")
    expect(shown).to_have_attribute("data-to", re.compile(r"\d"))
    chosen = parse_qs(urlsplit(page.url).query)
    since, until = int(chosen["from"][0]), int(chosen["to"][0])
    assert BEGIN_MS + HOUR_MS / 3 < since < until <= BEGIN_MS + HOUR_MS
    expect(shown).to_have_attribute("data-from", str(since))

    page.reload()
    expect(shown).to_have_attribute("data-from", str(since))
    assert asked[-1] == f"from={since}&to={until}"
    page.go_back()
    expect(page.get_by_role("link", name="15 min")).to_have_attribute("aria-current", "true")
    shown.get_by_text("Custom").click()
    page.get_by_label("From").fill("2026-07-01T12:00")
    page.get_by_label("Until").fill("2026-07-01T11:00")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page).to_have_url(re.compile(r"/\?range=15m$"))
    page.get_by_label("Until").fill("2026-07-01T12:30")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page).to_have_url(re.compile(rf"/\?from={BEGIN_MS}&to={BEGIN_MS + HOUR_MS // 2}$"))


def test_a_range_is_marked_by_touch_and_the_page_still_scrolls(phone: Page) -> None:
    plot = draw(phone, NOON, NOON.replace(hour=11))
    plot.scroll_into_view_if_needed()
    box = plot.locator("svg[role=img]").bounding_box()
    assert box is not None
    left, middle = box["x"] + box["width"] / 3, box["y"] + box["height"] / 2
    finger = phone.context.new_cdp_session(phone)

    def drag(step_x: float, step_y: float) -> None:
        points = [{"x": left + step * step_x, "y": middle + step * step_y} for step in range(9)]
        for kind, point in [("touchStart", points[0]), *[("touchMove", point) for point in points[1:]]]:
            finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})
        finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    before = phone.evaluate("scrollY")
    drag(0, -15)
    phone.wait_for_function("(before) => scrollY > before + 40", arg=before)
    assert "from=" not in phone.url
    expect(phone.locator(".chart-zoom")).to_have_count(0)

    phone.evaluate("(before) => scrollTo(0, before)", before)
    drag(15, 1)
    expect(phone).to_have_url(re.compile(r"/\?from=\d+&to=\d+$"))


def test_a_series_is_switched_off_and_stays_so_and_events_are_listed(page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    plot = draw(page, NOON, NOON.replace(hour=11))
    lines, acked = plot.locator("svg .chart-line"), page.get_by_role("button", name="acked").first
    expect(lines).to_have_count(2)

    acked.focus()
    page.keyboard.press("Enter")

    expect(lines).to_have_count(1)
    expect(acked).to_be_focused()
    plot.focus()
    page.keyboard.press("End")
    read = plot.get_by_role("status")
    expect(read).not_to_contain_text("acked")
    expect(read).to_contain_text("shop: v7 deployed")
    page.reload()
    expect(lines).to_have_count(1)
    expect(acked).to_have_attribute("aria-pressed", "false")
    page.get_by_text("Events (2)").click()
    expect(page.get_by_role("link", name="orders: Dead letters")).to_have_attribute("href", "/incidents/1/")
    page.get_by_text("Show numbers").first.click()
    expect(page.locator(".chart-numbers tbody tr").last).to_contain_text("orders: Dead letters; shop: v7 deployed")
    assert find_barriers(page) == []
    keep_picture(page, "charts-events-dark")
