"""The admin is part of the same product: a token is made there, and the API accepts it."""

from __future__ import annotations

from http.client import HTTPConnection

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import TakePage
from tests.browser.looking import find_barriers, keep_picture
from tests.browser.service import Shop


def publish_with(token: str, shop: Shop, queue: str) -> int:
    connection = HTTPConnection(shop.service.address, timeout=20)
    connection.request("PUT", f"/api/demo/{queue}", b"hello", {"X-Token": token})
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_a_token_made_in_the_admin_publishes(width: str, take_page: TakePage, shop: Shop) -> None:
    page = take_page(width)
    page.goto("/")
    pages = page.get_by_role("navigation", name="Main")
    if width == "desktop":
        pages.get_by_text("More").click()
    pages.get_by_role("link", name="Admin").click()
    page.locator("#content").get_by_role("link", name="Tokens", exact=True).click()
    page.get_by_role("link", name="Create token").click()
    page.get_by_label("Namespace").select_option(label="default:demo")
    page.get_by_label("Description").fill(f"the cashier's {width}")
    page.get_by_role("button", name="Save", exact=True).click()
    token = page.locator("#token-secret").inner_text().strip()
    assert find_barriers(page) == []

    assert publish_with(token, shop, "till") == 201
    assert publish_with(token + "x", shop, "till") == 401

    page.get_by_role("link", name="I have copied it").click()
    expect(page.get_by_text(f"the cashier's {width}")).to_be_visible()
    assert token not in page.content()
    keep_picture(page, f"admin-tokens-{width}")


def test_the_admin_has_no_barriers_by_day_and_by_night(page: Page) -> None:
    barriers = []
    for path in (
        "queues/token/",
        "queues/token/1/change/",
        "queues/namespace/1/change/",
        "queues/namespace/1/delete/",
        "queues/queuepolicy/add/",
        "auth/user/1/change/",
    ):
        page.emulate_media(color_scheme="light")
        page.goto(f"/admin/{path}")
        barriers += find_barriers(page)
        page.emulate_media(color_scheme="dark")
        barriers += find_barriers(page, of_theme=True)
        keep_picture(page, f"admin-{path.strip('/').replace('/', '-')}-dark")

    assert barriers == []
