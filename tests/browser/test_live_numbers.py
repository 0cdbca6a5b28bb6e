"""Numbers move while one looks, and stand still when one says so."""

from __future__ import annotations

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


def test_the_sums_move_without_a_reload(page: Page, phone: Page, shop: Shop) -> None:
    figures = []
    for one in (page, phone):
        one.goto("/")
        ready = one.locator(".totals li").filter(has_text="Ready").locator("b")
        expect(ready).not_to_have_text("0", timeout=SOON_MS)
        one.evaluate("window.notReloaded = true")
        figures.append((ready, exactly(ready)))

    shop.put_many("flood", FLOOD)

    for ready, before in figures:
        wait_until(
            lambda ready=ready, before=before: exactly(ready) > before + FLOOD - DEMO_LOAD,  # type: ignore[misc]
            or_fail="the sum stands still",
            timeout_s=SOON_MS / 1000,
        )
    assert page.evaluate("window.notReloaded")
    assert phone.evaluate("window.notReloaded")


def test_a_queue_fills_before_ones_eyes(page: Page, phone: Page, shop: Shop) -> None:
    shop.put("trickle", b"1")
    figures = []
    for one in (page, phone):
        one.goto("/queues/default/demo/trickle/")
        states = one.get_by_role("navigation", name="Jobs by state")
        figures.append(states.get_by_role("link", name="Ready").locator(".count"))
        expect(figures[-1]).to_have_text("1")

    job_id = shop.put("trickle", b"2")

    for one, ready, width in zip((page, phone), figures, ("desktop", "phone"), strict=True):
        expect(ready).to_have_text("2", timeout=SOON_MS)
        expect(one.get_by_role("link", name=job_id)).to_be_visible(timeout=SOON_MS)
        assert sticks_out(one) == []
        keep_picture(one, f"queue-filled-{width}")


def test_who_pauses_is_left_in_peace(open_page: OpenPage, shop: Shop) -> None:
    shop.put("calm", b"1")
    page = open_page()  # whose clock stays installed
    page.goto("/queues/default/demo/calm/")
    page.get_by_role("button", name="Live").click()
    expect(page.get_by_role("button", name="Paused")).to_be_visible()
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))

    page.get_by_role("link", name="Delayed").first.hover()
    page.clock.install()
    page.clock.run_for(60_000)

    assert fetched == []
