"""Every page: no barrier, no error, nothing from other hosts; by day, by night and on a phone; a picture is kept."""

from __future__ import annotations

from typing import Final

import pytest
from playwright.sync_api import Page, expect

from tests.browser.contexts import PHONE
from tests.browser.looking import find_barriers, keep_picture, sticks_out, wait_for_charts
from tests.browser.pages import PAGES, TROUBLE
from tests.browser.repetitions import ALIKE, FIND_REPETITIONS
from tests.browser.service import Shop
from tests.browser.watching import Watch

API_DOCS: Final = {"api-docs": "/api/docs"}


@pytest.mark.parametrize("name", PAGES | API_DOCS)
def test_a_page_is_for_everybody(name: str, page: Page, shop: Shop, watches: list[Watch]) -> None:
    if name in TROUBLE:
        watches[0].expected.append(TROUBLE[name])
    page.goto(shop.address((PAGES | API_DOCS)[name]))
    wait_for_charts(page)

    whole = name not in API_DOCS  # which are very long
    barriers = find_barriers(page)
    keep_picture(page, f"{name}-desktop", full_page=whole)
    page.emulate_media(color_scheme="dark")
    barriers += find_barriers(page, of_theme=True)
    keep_picture(page, f"{name}-desktop-dark", full_page=whole)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(PHONE)
    wide = sticks_out(page)
    barriers += find_barriers(page)
    keep_picture(page, f"{name}-phone", full_page=whole)

    assert barriers == []
    assert wide == [], "it scrolls sideways on a phone"


def in_both_themes(page: Page) -> list[str]:
    """What axe finds by day and by night."""
    barriers = []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        barriers += find_barriers(page, of_theme=theme == "dark")
    return barriers


def test_pages_that_only_a_form_leads_to_are_for_everybody(page: Page) -> None:
    barriers = []
    page.goto("/alerts/new")
    page.get_by_label("Name", exact=True).fill("of the browser tests")
    page.get_by_label("URL", exact=True).fill("https://hooks.invalid/alerts")
    page.locator("[name=enabled]").uncheck()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Copy the secret now")).to_be_visible()
    barriers += in_both_themes(page)

    page.goto("/push/default/demo/new")
    page.get_by_label("Queue", exact=True).fill("pushed-by-tests")
    page.get_by_label("URL", exact=True).fill("https://hooks.invalid/pushed")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Copy the secret now")).to_be_visible()
    barriers += in_both_themes(page)

    page.goto("/queues/default/demo/emails/")
    page.evaluate("document.querySelector('form[action$=empty]').submit()")  # as without scripts
    expect(page.get_by_role("heading", name="Delete")).to_be_visible()
    barriers += in_both_themes(page)

    assert barriers == []


def test_a_row_that_differs_from_those_before_it_is_looked_at(page: Page, shop: Shop) -> None:
    page.goto(shop.address(PAGES["limit-keys"]))
    page.keyboard.press("p")  # rows stay as they are meanwhile
    expect(page.get_by_role("button", name="Paused")).to_be_visible()
    assert page.evaluate(FIND_REPETITIONS, ALIKE), "the page has no list whose rows are alike"
    keys = page.locator("main tbody bdi")

    keys.nth(30).evaluate("(key) => { key.style.color = '#ccc'; }")

    for of_theme in (False, True):
        (barrier,) = find_barriers(page, of_theme=of_theme)
        assert "color-contrast" in barrier
