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
    open_before, opened_then = open_page(), open_page()
    for watch in watches:
        watch.expected += ["status of 503", "answer 503"]
    open_before.goto("/consumers/")
    expect(open_before.get_by_role("button", name="Live")).to_be_visible()

    shop.redis.stop()
    try:
        expect(open_before.get_by_role("button", name="No answer")).to_be_visible(timeout=RECOVERY_MS)
        expect(open_before.locator(".live-trouble").first).to_contain_text("Redis does not answer")
        keep_picture(open_before, "redis-down-live-desktop")

        for path in ("/", "/queues/", "/queues/default/demo/emails/", "/dead/", "/consumers/", "/activity/"):
            opened_then.goto(path)
            expect(opened_then.get_by_text(re.compile(r"does not answer|unreachable")).first).to_be_visible()
            assert find_barriers(opened_then) == []
        opened_then.goto("/")
        keep_picture(opened_then, "redis-down-overview-desktop")
        opened_then.goto("/consumers/")
        keep_picture(opened_then, "redis-down-page-desktop")
    finally:
        shop.redis.start()

    expect(open_before.get_by_role("button", name="Live")).to_be_visible(timeout=RECOVERY_MS)
    expect(open_before.locator(".live-trouble")).to_have_count(0)
