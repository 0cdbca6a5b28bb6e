"""A look at very many jobs that gets no answer says so where its progress is, and goes on from there when asked."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.looking import find_barriers, keep_picture
from tests.browser.service import Shop
from tests.browser.watching import Watch


def break_and_mend(page: Page, watch: Watch, asked: str, button: Locator, place: Locator) -> None:
    """Press the button while nothing is answered, and again when it is."""
    watch.expected.append("net::ERR_FAILED")
    page.route(asked, lambda route: route.abort())
    button.click()

    expect(place.get_by_role("alert")).to_have_text("Stopped: the server does not answer.")
    expect(button).to_have_text("Try again")
    assert find_barriers(page) == []

    page.unroute(asked)
    button.click()


def test_the_rest_of_the_dead_letters(page: Page, shop: Shop, watches: list[Watch]) -> None:
    shop.bury_many("flyers", 2_100)
    page.goto("/dead/?queue=flyers")
    rest = page.locator("#dead-rest")

    break_and_mend(page, watches[0], "**/dead/more?*", page.locator("#dead-go-on"), rest)

    expect(rest).to_be_hidden()
    expect(page.locator('[data-kind="errors"] tbody td.number').first).to_have_text("2,100")


def test_a_search_in_a_queue(page: Page, shop: Shop, watches: list[Watch]) -> None:
    shop.put_many("hay", 5_600)
    needle = shop.put("hay", b"a needle")
    shop.put_many("hay", 5_600)
    page.goto("/queues/default/demo/hay/?state=ready&body=needle")
    more = page.locator("#jobs-more")

    break_and_mend(page, watches[0], "**/hay/jobs?*", page.locator("[data-scan-on]"), more)

    expect(page.get_by_role("link", name=needle)).to_be_visible()
    expect(more.get_by_role("alert")).to_have_count(0)
    expect(page.locator("[data-scan-on]")).to_have_text("Keep searching")


def test_an_act_on_everything_tells_it_in_the_language_of_the_page(
    open_page: OpenPage, shop: Shop, watches: list[Watch]
) -> None:
    page = open_page(wish="zh-CN")
    watches[0].expected.append("net::ERR_FAILED")
    shop.bury_many("posters", 3)
    page.goto("/queues/default/demo/posters/?state=dead")
    page.route("**/act-on-all", lambda route: route.abort())

    page.locator("form[data-bulk] button[value=respawn]").click()
    page.locator("#confirm-yes").click()

    expect(page.locator("#bulk-said")).to_contain_text("服务器无响应")
    expect(page.locator("#bulk-said")).not_to_contain_text("fetch")
    assert shop.count("posters", "dead") == 3


def test_what_the_server_says_is_shown(page: Page, shop: Shop, watches: list[Watch]) -> None:
    watches[0].expected += ["status of 503", "answer 503"]
    shop.bury_many("leaflets-of-old", 2_100)
    page.goto("/dead/?queue=leaflets-of-old")
    told = {"error": "Redis does not answer", "code": "store_unavailable"}
    page.route("**/dead/more?*", lambda route: route.fulfill(status=503, json=told))

    page.get_by_role("button", name="Search the rest").click()

    expect(page.locator("#dead-rest").get_by_role("alert")).to_have_text("Stopped: Redis does not answer")
    keep_picture(page, "dead-look-failed-desktop", full_page=False)
