"""Every page: no barrier, no error, nothing from other hosts; by day, by night and on a phone; a picture is kept."""

from __future__ import annotations

from typing import Final

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import PHONE
from tests.browser.looking import find_barriers, keep_picture, sticks_out, wait_for_charts
from tests.browser.service import Shop
from tests.browser.watching import Watch

PAGES: Final[dict[str, str]] = {
    "overview": "/",
    "queues": "/queues/",
    "queue": "/queues/default/demo/emails/",
    "queue-dead": "/queues/default/demo/invoices/?state=dead",
    "job": "/queues/default/demo/reports/jobs/{job}/",
    "dead": "/dead/",
    "consumers": "/consumers/",
    "consumers-by-queue": "/consumers/?by=queue",
    "schedules": "/schedules/",
    "reports": "/reports/",
    "activity": "/activity/",
    "not-found": "/queues/default/nowhere/emails/",
    "admin": "/admin/",
    "admin-token": "/admin/queues/token/add/",
    "api-docs": "/api/docs",
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_for_everybody(name: str, page: Page, shop: Shop, watches: list[Watch]) -> None:
    if name == "not-found":
        watches[0].expected.append("status of 404")
    page.goto(PAGES[name].format(job=shop.held_job))
    wait_for_charts(page)

    whole = name != "api-docs"  # which is very long
    barriers = find_barriers(page)
    keep_picture(page, f"{name}-desktop", full_page=whole)
    page.emulate_media(color_scheme="dark")
    barriers += find_barriers(page, only="color-contrast")
    keep_picture(page, f"{name}-desktop-dark", full_page=whole)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(PHONE)
    wide = sticks_out(page)
    barriers += find_barriers(page)
    keep_picture(page, f"{name}-phone", full_page=whole)

    assert barriers == []
    assert wide == [], "it scrolls sideways on a phone"
