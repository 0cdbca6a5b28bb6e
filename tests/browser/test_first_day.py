"""The first day: a token made in the page stands in the code, and works; a policy is made with a picker."""

from __future__ import annotations

from http.client import HTTPConnection

from playwright.sync_api import Page, expect

from tests.browser.looking import find_barriers, keep_picture
from tests.browser.service import Shop


def publish_status(shop: Shop, token: str) -> int:
    """Of a publish with that token."""
    connection = HTTPConnection(shop.service.address, timeout=20)
    connection.request("PUT", "/api/demo/greetings", b"hello", {"X-Token": token})
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_token_is_made_shown_in_the_code_and_revoked(page: Page, shop: Shop) -> None:
    page.goto("/first-day/")
    publish = page.locator("#snippet-curl-1")
    expect(publish).to_contain_text("X-Token: YOUR_TOKEN")
    expect(publish).to_contain_text(f"{shop.url}/api/demo/greetings")

    page.get_by_label("Description").fill("of the first day")
    page.get_by_role("button", name="Create token").click()
    secret = page.locator("#token-secret")
    expect(secret).to_be_visible()
    token = secret.inner_text()
    expect(publish).to_contain_text(f"X-Token: {token}")
    page.get_by_role("tab", name="Java").click()
    expect(page.locator("#snippet-java-1")).to_contain_text(token)
    expect(publish).to_be_hidden()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#snippet-node-1")).to_be_visible()
    assert find_barriers(page) == []
    keep_picture(page, "first-day-token")
    page.emulate_media(color_scheme="dark")
    assert find_barriers(page) == []
    assert publish_status(shop, token) == 201
    expect(page.locator(".steps-done li[data-key=publish]")).to_have_class("done")

    page.goto("/tokens/")
    row = page.get_by_role("row").filter(has_text="of the first day")
    row.get_by_role("button", name="Revoke").click()
    page.locator("#confirm-yes").click()
    expect(page.get_by_role("status").filter(has_text="The token is revoked.")).to_be_visible()
    expect(row).to_have_count(0)
    assert publish_status(shop, token) == 401


def test_a_backoff_is_picked_and_drawn_while_it_is_typed(page: Page) -> None:
    page.goto("/queues/default/demo/night-shift/policy/")
    expect(page.get_by_label("Time to live")).to_have_attribute("placeholder", "1d")
    picture = page.locator("#backoff-picture")

    page.get_by_label("Tries").fill("4")
    page.get_by_label("Pick a backoff").select_option("exponential")
    page.get_by_label("First wait").fill("1m")
    page.get_by_label("Longest wait").fill("soon")
    expect(picture).to_contain_text("Write a length of time such as")
    page.get_by_label("Longest wait").fill("2m")

    expect(page.get_by_label("Backoff", exact=True)).to_have_value("exponential:60:120")
    expect(picture.get_by_role("row")).to_have_count(5)
    expect(picture).to_contain_text("30 s – 1 min")
    keep_picture(page, "queue-policy")
    page.get_by_label("Time to live").fill("1d12h")
    page.get_by_role("button", name="Save").click()
    page.goto("/policies/?q=night-shift")
    expect(page.get_by_role("row").filter(has_text="night-shift")).to_contain_text("exponential:60:120")
    expect(page.get_by_role("row").filter(has_text="night-shift")).to_contain_text("1d12h")
