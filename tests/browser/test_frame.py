"""What all pages share: the theme, times that go on, and on a phone a low bar with the current page and tab in view."""

from __future__ import annotations

import re
from typing import Final

from playwright.sync_api import Page, Route, expect

from tests.browser.contexts import PHONE
from tests.browser.looking import SOON_MS, wait_for_charts
from tests.browser.service import Shop

BAR_MAX_PX: Final = 96
COLOURS: Final = {"light": "rgb(245, 247, 248)", "dark": "rgb(15, 23, 27)"}

REST: Final = """(time) => {
  const there = {bubbles: true, clientX: 1, clientY: 1};
  for (let times = 0; times < 2; times += 1) time.dispatchEvent(new PointerEvent("pointerover", there));
  const described = document.querySelector("[aria-describedby=time-tip]");
  return described && (described === time ? "this" : "another");
}"""
"""A pointer rests on a time, of which Chromium tells anew each time that the time is written anew. Which time
has the tooltip then: "this", "another" or none."""


def _only_the_theme(route: Route) -> None:
    """What comes after the first paint is left out."""
    if route.request.url.endswith("/theme.js"):
        route.continue_()
    else:
        route.fulfill(body="", content_type="text/javascript")


def background(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_a_theme_is_kept_by_the_browser_and_there_before_the_first_paint(page: Page) -> None:
    page.goto("/activity/")
    assert background(page) == COLOURS["light"]
    page.locator(".bar-side details.menu > summary").click()
    page.get_by_role("button", name="Dark", exact=True).click()
    assert background(page) == COLOURS["dark"]

    page.route(re.compile(r"\.js$"), _only_the_theme)
    for path in ("/activity/", "/admin/", "/api/docs"):
        page.goto(path)
        assert background(page) == COLOURS["dark"], path
        page.emulate_media(media="print")
        assert background(page) == COLOURS["light"], f"{path}: paper is white"
        page.emulate_media(media="screen")
    page.unroute_all()

    page.goto("/activity/")
    page.locator(".bar-side details.menu > summary").click()
    page.get_by_role("button", name="System", exact=True).click()
    page.emulate_media(color_scheme="dark")
    assert background(page) == COLOURS["dark"]
    page.emulate_media(color_scheme="light")
    assert background(page) == COLOURS["light"]


def test_a_time_goes_on_and_says_exactly_when_to_pointer_and_keys(page: Page, shop: Shop) -> None:
    shop.bury("lost-and-found", "550 no such mailbox", jobs=1)
    page.goto("/queues/default/demo/lost-and-found/?state=dead")
    expect(page.get_by_text("1 job died in the last 5 min")).to_be_visible(timeout=SOON_MS)  # moves what is below
    shop.bury("lost-and-found", "550 no such mailbox", jobs=1)
    page.reload()
    times = page.locator("#jobs time")
    expect(times).to_have_count(2)
    time, other = times.first, times.last
    expect(time).to_have_text(re.compile(r"^\d+ s ago$"))
    first = time.inner_text()
    expect(time).not_to_have_text(first)
    wait_for_charts(page)  # which move it, too
    exact = re.compile(r"\d\d:\d\d:\d\d .* · 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC")

    page.locator("#find").focus()  # which has no time
    time.hover()
    expect(page.get_by_role("tooltip")).to_have_text(exact)
    assert time.evaluate(REST) == "this"
    page.evaluate("document.dispatchEvent(new Event('scroll'))")  # as it comes a moment after the pointer
    expect(page.get_by_role("tooltip")).to_have_text(exact)
    page.locator("h1").hover()
    expect(page.get_by_role("tooltip")).to_have_count(0)
    page.locator("#find").blur()

    other.hover()
    page.keyboard.press("j")
    expect(time).to_have_attribute("aria-describedby", "time-tip")
    expect(page.get_by_role("tooltip")).to_have_text(exact)
    assert other.evaluate(REST) == "another"
    expect(time).to_have_attribute("aria-describedby", "time-tip")
    # As it comes, too, when what loads late moves under a pointer that rests.
    page.get_by_role("columnheader", name="Last error").hover()
    expect(time).to_have_attribute("aria-describedby", "time-tip")
    expect(page.get_by_role("tooltip")).to_have_text(exact)
    page.keyboard.press("Escape")
    expect(page.get_by_role("tooltip")).to_have_count(0)
    page.get_by_role("columnheader", name="Tries").hover()
    expect(page.get_by_role("tooltip")).to_have_count(0)


def test_on_a_phone_the_bar_is_low_and_shows_where_one_is(phone: Page) -> None:
    phone.goto("/activity/")
    bar = phone.locator("header.bar").bounding_box()
    assert bar is not None
    assert bar["height"] <= BAR_MAX_PX
    for path, rows in (
        ("/activity/", [".bar-links"]),
        ("/queues/default/demo/emails/?state=grouped", [".bar-links", ".tabs"]),
    ):
        phone.goto(path)
        for row in rows:
            current = phone.locator(f"{row} [aria-current]")
            expect(current).to_be_visible()
            box = current.bounding_box()
            assert box is not None
            assert box["x"] >= 0, (path, row)
            assert box["x"] + box["width"] <= PHONE["width"], (path, row)
