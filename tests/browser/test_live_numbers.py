"""Numbers move while one looks, and stand still when one says so."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.looking import SOON_MS, keep_picture, sticks_out
from tests.browser.service import Shop
from tests.support.waiting import wait_until

FLOOD = 4_000
DEMO_LOAD = 500
"""More jobs than the demo load takes away meanwhile."""


def exactly(figure: Locator) -> int:
    """The whole number behind one like `4.2 k`."""
    return int((figure.get_attribute("title") or figure.inner_text()).replace(",", ""))


@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_the_sums_move_without_a_reload(width: str, open_page: OpenPage, shop: Shop) -> None:
    page = open_page(phone=width == "phone")
    page.goto("/")
    ready = page.locator(".totals li").filter(has_text="Ready").locator("b")
    expect(ready).not_to_have_text("0", timeout=SOON_MS)
    page.evaluate("window.notReloaded = true")
    before = exactly(ready)

    shop.put_many(f"flood-{width}", FLOOD)

    wait_until(
        lambda: exactly(ready) > before + FLOOD - DEMO_LOAD, or_fail="the sum stands still", timeout_s=SOON_MS / 1000
    )
    assert page.evaluate("window.notReloaded")


@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_a_queue_fills_before_ones_eyes(width: str, open_page: OpenPage, shop: Shop) -> None:
    queue = f"trickle-{width}"
    shop.put(queue, b"1")
    page = open_page(phone=width == "phone")
    page.goto(f"/queues/default/demo/{queue}/")
    ready = page.get_by_role("navigation", name="Jobs by state").get_by_role("link", name="Ready").locator(".count")
    expect(ready).to_have_text("1")

    job_id = shop.put(queue, b"2")

    expect(ready).to_have_text("2", timeout=SOON_MS)
    expect(page.get_by_role("link", name=job_id)).to_be_visible(timeout=SOON_MS)
    assert sticks_out(page) == []
    keep_picture(page, f"queue-filled-{width}")


def test_who_pauses_is_left_in_peace(page: Page, shop: Shop) -> None:
    shop.put("calm", b"1")
    page.goto("/queues/default/demo/calm/")
    page.get_by_role("button", name="Live").click()
    expect(page.get_by_role("button", name="Paused")).to_be_visible()
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))

    page.get_by_role("link", name="Delayed").first.hover()
    page.clock.install()
    page.clock.run_for(60_000)

    assert fetched == []
