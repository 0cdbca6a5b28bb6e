"""The list of queues as a reader arranges it, and what it sends while it is looked at."""

from __future__ import annotations

import re

from playwright.sync_api import Page, Response, expect

from tests.browser.looking import SOON_MS, find_barriers, keep_picture
from tests.browser.service import Shop


def _is_change(response: Response) -> bool:
    return "/queues/?" in response.url and "x-have" in response.request.headers and response.status == 200


def test_columns_are_chosen_and_a_view_is_kept(page: Page, shop: Shop) -> None:
    for number in range(12):
        shop.put(f"branch-{number:02}", b"x", delay=3_600)
    page.goto("/queues/")
    page.get_by_text("Columns", exact=True).first.click()
    assert find_barriers(page) == []
    keep_picture(page, "queues-columns")
    for box in page.locator("input[name=column]").all():
        box.set_checked(box.get_attribute("value") == "delayed")
    page.get_by_role("button", name="Show these").click()
    expect(page.get_by_role("columnheader")).to_have_text(["Queue", "Delayed"])

    page.get_by_role("searchbox", name="Name", exact=True).fill("branch-")
    page.get_by_role("button", name="Filter").click()
    page.get_by_role("link", name="Delayed", exact=True).last.click()
    page.get_by_text("Save view", exact=True).click()
    page.locator("input[name=name]").fill("Branches")
    page.get_by_role("button", name="Save", exact=True).click()

    views = page.get_by_role("navigation", name="Views")
    expect(views.locator("[aria-current]")).to_have_text("Branches")
    page.goto("/queues/")
    views.get_by_role("link", name="Branches").click()
    expect(page).to_have_url(re.compile(r"/queues/\?q=branch-&sort=-delayed&columns=delayed$"))
    rows = page.locator("main tbody tr")
    expect(rows).to_have_count(12, timeout=SOON_MS)
    keep_picture(page, "queues-saved-view")

    # Of twelve rows one changes: the others are not sent again, and stay.
    page.evaluate("[...document.querySelectorAll('main tbody tr')].forEach((row) => row.isTheSame = true)")
    with page.expect_response(lambda one: _is_change(one) and "data-same" in one.text(), timeout=SOON_MS) as changes:
        shop.put("branch-07", b"x", delay=3_600)
    assert changes.value.headers["content-encoding"] in ("br", "gzip")
    expect(rows.filter(has_text="branch-07").locator("td")).to_have_text("2", timeout=SOON_MS)
    expect(rows).to_have_count(12)
    assert page.evaluate("[...document.querySelectorAll('main tbody tr')].every((row) => row.isTheSame)")

    page.get_by_role("button", name="Delete view").click()
    expect(views.get_by_role("link")).to_have_text(["All queues", "With incidents"])


def test_a_range_of_jobs_is_ticked_by_shift_and_click(page: Page, shop: Shop) -> None:
    shop.bury("send-backs", "Traceback (most recent call last):\n  File 'a.py', line 1\nKeyError: 7", jobs=7)
    page.goto("/queues/default/demo/send-backs/?state=dead")
    boxes = page.locator("input[name=job]")
    expect(boxes).to_have_count(7)
    expect(page.locator("td.error-text").first).to_have_text("KeyError: 7")
    page.evaluate("document.addEventListener('change', () => window.changes = (window.changes ?? 0) + 1)")

    boxes.nth(1).click()
    boxes.nth(4).click(modifiers=["Shift"])
    assert [box.is_checked() for box in boxes.all()] == [False, True, True, True, True, False, False]
    assert page.evaluate("window.changes") == 4

    boxes.nth(2).click(modifiers=["Shift"])
    assert [box.is_checked() for box in boxes.all()] == [False, True, False, False, False, False, False]
