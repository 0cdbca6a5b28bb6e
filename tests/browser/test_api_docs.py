"""The API docs: routes are found, tried with a token that stays in the page, and shown as code that works."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import Final

from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.looking import find_barriers, keep_picture
from tests.browser.service import Shop

EVERYTHING_STORED: Final = "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])"


def test_a_route_is_found_tried_and_shown_as_code(page: Page, shop: Shop) -> None:
    page.goto("/api/docs")
    page.keyboard.press("/")
    page.keyboard.type("Publish a job")
    routes = page.locator(".route:visible")
    expect(page.locator("#found")).to_have_text(f"{routes.count()} of {page.locator('.route').count()}")
    page.get_by_label("Search").fill("zebra")
    expect(page.get_by_text("No matching routes.")).to_be_visible()
    page.get_by_role("button", name="Clear the search").click()

    page.get_by_role("navigation", name="Routes").get_by_role("link", name="PUT Publish a job", exact=True).click()
    route = page.locator("#publishpublish")
    send = route.get_by_role("button", name="Send")
    send.click()
    expect(route.get_by_text("Type a token first")).to_be_visible()
    page.get_by_label("Token", exact=True).fill(shop.service.said["token"])
    page.get_by_label("Queue", exact=True).fill("tried")
    route.get_by_label("body").fill('it\'s "quoted" and $plain\\')
    route.get_by_text("Parameters", exact=True).click()
    route.get_by_label("tries").fill("7")
    send.click()
    expect(route.locator(".status", has_text="201 Created")).to_be_visible()
    expect(route.get_by_label("Answer")).to_contain_text('"msg": "published"')

    assert shop.service.said["token"] not in str(page.evaluate(EVERYTHING_STORED))
    page.get_by_label("Search").fill("Publish a job")  # axe takes long for all of them
    barriers = find_barriers(page)
    page.emulate_media(color_scheme="dark")
    barriers += find_barriers(page, of_theme=True)
    assert barriers == []
    keep_picture(page, "api-docs-tried", full_page=False)

    commands = {"Python": [sys.executable, "-c"], "curl": ["sh", "-c"], "Node": ["node", "--input-type=module", "-e"]}
    for language, command in commands.items():
        if shutil.which(language.lower()) is None and language != "Python":
            continue
        page.get_by_label("Code in").select_option(language)
        code = route.get_by_label("Code", exact=True).inner_text()
        done = subprocess.run([*command, code], capture_output=True, text=True, timeout=30, check=False)
        assert '"msg":"published"' in done.stdout, (language, code, done.stderr)
    status, answer = shop.call("GET", "/api/demo/tried/peek")
    assert (status, answer["remain_tries"]) == (200, 7)
    assert shop.call("GET", "/api/demo/tried/stats")[1]["ready"] >= 2


def test_the_bar_is_that_of_every_page(open_page: OpenPage) -> None:
    page = open_page(wish="zh-CN")
    page.goto("/api/docs")
    expect(page.get_by_role("navigation").first.get_by_role("link")).not_to_have_count(0)
    page.locator(".bar-side details.menu > summary").click()
    page.get_by_role("button", name="深色", exact=True).click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 23, 27)"
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    expect(page.locator(".layout")).to_have_attribute("lang", "en")

    stranger = open_page(signed_in=False)
    stranger.goto("/api/docs")
    stranger.locator(".bar-side details.menu > summary").click()
    expect(stranger.get_by_role("button", name="Dark", exact=True)).to_be_visible()
    assert find_barriers(stranger) == []


def test_a_route_of_staff_uses_the_session_and_no_other_token(page: Page) -> None:
    page.goto("/api/docs#stafftoken")  # of no route: nothing is opened
    expect(page.locator(".route[open]")).to_have_count(0)
    page.get_by_label("Search").fill("Make a token")
    route = page.locator("#admincreate_token")
    route.locator("summary").first.click()

    page.get_by_label("Namespace", exact=True).fill("demo")
    route.get_by_label("description").fill("made on the docs page")
    route.get_by_role("button", name="Send").click()

    expect(route.locator(".status", has_text="201 Created")).to_be_visible()
    expect(route.get_by_label("Answer")).to_contain_text('"token"')
