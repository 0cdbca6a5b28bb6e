"""Things that once did not fit where they stand."""

from __future__ import annotations

from typing import Final

from playwright.sync_api import Page, expect

from dashboard.queue_columns import DEFAULT
from tests.browser.conftest import OpenPage
from tests.browser.contexts import DESKTOP
from tests.browser.looking import SOON_MS, find_barriers, keep_picture
from tests.browser.service import Shop

FITS: Final = "(element) => element.scrollWidth <= element.clientWidth"
IN_LINE: Final = "(bar) => [...bar.children].every((one) => one.offsetTop < bar.firstElementChild.offsetTop + 24)"


def test_the_list_of_queues_is_seen_whole_at_a_desk(open_page: OpenPage, shop: Shop) -> None:
    shop.bury("invoices-of-all-the-other-countries", "550 no such mailbox", jobs=1)
    shop.put_many("catalogues", 12_000)
    pages = {wish: open_page(wish=wish) for wish in ("en-US", "zh-CN")}
    for page in pages.values():
        page.goto("/queues/?sort=-ready")

    for wish, page in pages.items():
        row = page.get_by_role("row").filter(has_text="catalogues")
        expect(row).to_contain_text("12 k", timeout=SOON_MS)
        assert page.locator(".scroll").evaluate(FITS)
        expect(page.get_by_role("columnheader")).to_have_count(1 + len(DEFAULT))
        for header in page.get_by_role("columnheader").all():
            expect(header).to_be_in_viewport()
        keep_picture(page, f"queues-full-{wish}")


def test_the_bar_keeps_to_one_line_while_there_is_no_answer(page: Page) -> None:
    page.goto("/")
    mark = page.locator("#live")
    expect(mark).to_be_visible()
    mark.evaluate("(mark) => { mark.textContent = mark.dataset.staleWord; }")

    assert page.locator("header.bar").evaluate(IN_LINE)
    assert page.viewport_size == DESKTOP


def test_what_a_consumer_does_stands_apart_from_where_it_is(phone: Page, shop: Shop) -> None:
    shop.wait_for_job("night-desk", consumer="porter-1", timeout_s=1)
    phone.goto("/consumers/?q=porter-1")
    pill = phone.get_by_text("not connected", exact=True)
    expect(pill).to_be_visible(timeout=SOON_MS)

    state, place = phone.locator("td[data-label='State']"), phone.locator("td[data-label='From']")
    below, above = place.bounding_box(), state.bounding_box()

    assert below is not None
    assert above is not None
    assert below["y"] >= above["y"] + above["height"]


def test_no_two_landmarks_of_the_dead_letters_have_one_name(page: Page, shop: Shop) -> None:
    shop.bury("misprints", "550 no such mailbox", jobs=1)
    page.goto("/dead/")

    assert find_barriers(page, only="landmark-unique") == []


def test_the_longest_name_leaves_room_for_what_is_wrong(page: Page, shop: Shop) -> None:
    name = "n" * 255
    shop.bury(name, "550 no such mailbox", jobs=30)

    page.goto(f"/incidents/?state=open&q={name}")
    why = page.locator(".incident-list li").filter(has_text=name).locator(".why")
    expect(why).to_contain_text("30 jobs died in the last 5 min", timeout=SOON_MS)
    assert why.evaluate("(element) => element.clientWidth") > DESKTOP["width"] / 3

    page.goto(f"/dead/?queue={name}")
    assert page.locator("#dead-form .scroll").evaluate(FITS)
