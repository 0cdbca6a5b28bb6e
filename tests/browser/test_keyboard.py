"""Everything can be reached without a mouse."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.looking import keep_picture


def test_keys_find_explain_and_lead_to_pages(page: Page) -> None:
    page.goto("/consumers/")

    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Find a job")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    help_dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(help_dialog).to_be_visible()
    keep_picture(page, "keyboard-help-desktop", full_page=False)
    page.keyboard.press("Escape")
    expect(help_dialog).to_be_hidden()
    page.keyboard.press("g")
    page.keyboard.press("q")

    expect(page).to_have_url(re.compile(r"/queues/$"))


def test_keys_typed_into_a_field_are_text(page: Page) -> None:
    page.goto("/consumers/")
    field = page.get_by_label("Name, address or queue")

    field.press_sequentially("g q ? /")

    expect(field).to_have_value("g q ? /")
    expect(page).to_have_url(re.compile(r"/consumers/$"))
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_the_first_tab_leads_past_the_bar(page: Page) -> None:
    page.goto("/consumers/")

    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.locator("main")).to_be_focused()


def test_rows_are_walked_by_key(page: Page) -> None:
    page.goto("/consumers/?by=queue")
    links = page.locator("main tbody tr th a")
    page.keyboard.press("p")  # rows stay as they are meanwhile
    expect(page.get_by_role("button", name="Paused")).to_be_visible()

    page.keyboard.press("j")
    expect(links.nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("k")
    expect(links.nth(0)).to_be_focused()
