"""What a person sees while Redis is away, and that pages find back by themselves."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.looking import find_barriers, keep_picture
from tests.browser.service import Shop
from tests.browser.watching import Watch

RECOVERY_MS = 30_000


def test_redis_is_away_and_comes_back(open_page: OpenPage, shop: Shop, watches: list[Watch]) -> None:
    open_before, opened_then, overview = open_page(), open_page(), open_page()
    for watch in watches:
        watch.expected += ["status of 503", "answer 503"]
    overview.goto("/")
    open_before.goto("/consumers/")
    expect(open_before.get_by_role("button", name="Live")).to_be_visible()
    numbers = overview.locator(".totals")
    expect(numbers).to_contain_text(re.compile(r"Completed\s*\d"))

    shop.redis.stop()
    try:
        expect(open_before.get_by_role("button", name="No answer")).to_be_visible(timeout=RECOVERY_MS)
        expect(open_before.locator(".live-trouble").first).to_contain_text("Redis does not answer")
        for page in (open_before, overview):
            expect(page.locator("#away")).to_contain_text("No answer from Redis since", timeout=RECOVERY_MS)
            expect(page.get_by_role("button", name="No answer")).to_be_visible()
        expect(open_before.locator(".live-trouble").first).to_be_hidden()
        expect(numbers).to_contain_text(re.compile(r"Completed\s*\d"))
        keep_picture(open_before, "redis-down-live-desktop")

        for path in ("/", "/queues/", "/queues/default/demo/emails/", "/dead/", "/consumers/", "/activity/"):
            opened_then.goto(path)
            expect(opened_then.get_by_text(re.compile(r"does not answer|unreachable")).first).to_be_visible()
            assert find_barriers(opened_then) == []
        opened_then.goto("/")
        keep_picture(opened_then, "redis-down-overview-desktop")
        opened_then.goto("/consumers/")
        expect(opened_then.locator("#away")).to_contain_text("No answer from Redis since")
        keep_picture(opened_then, "redis-down-page-desktop")
    finally:
        shop.redis.start()

    expect(open_before.get_by_role("button", name="Live")).to_be_visible(timeout=RECOVERY_MS)
    expect(open_before.locator(".live-trouble")).to_have_count(0)
    expect(opened_then.get_by_role("heading", name="Consumers", exact=True)).to_be_visible(timeout=RECOVERY_MS)
    for page in (open_before, overview, opened_then):
        expect(page.locator("#away")).to_be_empty(timeout=RECOVERY_MS)


def test_the_server_is_away_and_comes_back(open_page: OpenPage, watches: list[Watch]) -> None:
    page = open_page()
    watches[-1].expected += ["ERR_INTERNET_DISCONNECTED"]
    page.goto("/queues/")
    expect(page.get_by_role("button", name="Live")).to_be_visible()

    page.context.set_offline(True)
    expect(page.locator("#away")).to_contain_text(
        re.compile(r"No answer from the server since \d"), timeout=RECOVERY_MS
    )
    expect(page.get_by_role("button", name="No answer")).to_be_visible()
    expect(page.get_by_role("link", name="emails").first).to_be_visible()

    page.context.set_offline(False)
    expect(page.locator("#away")).to_be_empty(timeout=RECOVERY_MS)
    expect(page.get_by_role("button", name="Live")).to_be_visible(timeout=RECOVERY_MS)
