"""Every page: no barrier, no error, nothing from other hosts; by day, by night and on a phone; a picture is kept."""

from __future__ import annotations

from typing import Final

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import PHONE
from tests.browser.looking import find_barriers, keep_picture, sticks_out, wait_for_charts
from tests.browser.pages import PAGES, TROUBLE
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
    barriers += find_barriers(page)
    keep_picture(page, f"{name}-desktop-dark", full_page=whole)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(PHONE)
    wide = sticks_out(page)
    barriers += find_barriers(page)
    keep_picture(page, f"{name}-phone", full_page=whole)

    assert barriers == []
    assert wide == [], "it scrolls sideways on a phone"
