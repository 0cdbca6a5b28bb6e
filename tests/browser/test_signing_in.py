"""Signing in, and out again."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.looking import find_barriers, keep_picture
from tests.browser.service import Shop


def test_a_person_signs_in_and_out(open_page: OpenPage, shop: Shop) -> None:
    page = open_page(signed_in=False)
    page.goto("/consumers/")
    expect(page).to_have_url(re.compile(r"/login/\?next=/consumers/$"))
    assert find_barriers(page) == []
    keep_picture(page, "login-desktop")
    page.emulate_media(color_scheme="dark")
    assert find_barriers(page) == []

    page.get_by_label("Username").fill(shop.username)
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("Wrong username or password.")
    page.get_by_label("Username").fill(shop.username)
    page.get_by_label("Password").fill(shop.password)
    page.get_by_label("Password").press("Enter")

    expect(page).to_have_url(re.compile(r"/consumers/$"))
    page.get_by_text(shop.username, exact=True).click()
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(re.compile(r"/login/"))
    page.goto("/")
    expect(page).to_have_url(re.compile(r"/login/"))


def test_the_sign_in_fits_a_phone(open_page: OpenPage) -> None:
    page = open_page(phone=True, dark=True, signed_in=False)
    page.goto("/login/")

    assert find_barriers(page) == []
    keep_picture(page, "login-phone-dark")
