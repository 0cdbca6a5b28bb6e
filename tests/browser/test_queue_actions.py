"""A queue is stopped, filled and set going again by hand, and its page says at once what became of it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import TakePage
from tests.browser.looking import find_barriers, keep_picture
from tests.browser.service import Shop
from tests.browser.watching import Watch
from tests.support.waiting import wait_until

URL = "/queues/default/demo/parcels-out/"


@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_a_queue_is_paused_and_resumed(width: str, take_page: TakePage, shop: Shop) -> None:
    shop.put("parcels-out", b"a parcel")
    page = take_page(width)
    page.goto(URL)

    head = page.locator(".page-head")  # an incident's next steps may have the button, too
    head.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="nothing is delivered")).to_be_visible()
    assert shop.call("GET", "/api/demo/parcels-out")[0] == 404
    keep_picture(page, f"queue-paused-{width}")

    head.get_by_role("button", name="Resume").click()
    expect(head.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    assert shop.call("GET", "/api/demo/parcels-out?ttr=1")[0] == 200


def test_a_job_is_published_by_hand_and_taken(page: Page, shop: Shop) -> None:
    page.goto("/queues/default/demo/by-hand/")
    page.get_by_role("link", name="Publish a job").click()
    assert find_barriers(page) == []
    keep_picture(page, "publish-desktop")
    page.get_by_label("Body").first.fill('{"parcel": 7}')
    page.get_by_role("button", name="Publish", exact=True).click()

    expect(page.get_by_role("status").filter(has_text=re.compile("publish", re.IGNORECASE)).first).to_be_visible()
    assert shop.count("by-hand", "ready") == 1
    status, job = shop.call("GET", "/api/demo/by-hand")
    assert (status, job["data"]) == (200, "eyJwYXJjZWwiOiA3fQ==")


def test_emptying_a_queue_takes_its_name(page: Page, shop: Shop) -> None:
    shop.put("scraps", b"1")
    page.goto("/queues/default/demo/scraps/")

    page.get_by_role("button", name="Delete all jobs…").click()
    yes = page.get_by_role("button", name="Delete 1 job")
    expect(yes).to_be_disabled()
    page.get_by_label("To confirm, type").fill("scrap")
    expect(yes).to_be_disabled()
    page.get_by_label("To confirm, type").fill("scraps")
    yes.click()

    pending = page.get_by_role("status").filter(has_text="all jobs (1) from scraps.")
    expect(pending).to_be_visible()
    assert find_barriers(page) == []
    keep_picture(page, "queue-emptying-desktop")
    pending.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status").filter(has_text="Undone: no job was deleted.")).to_be_visible()
    expect(pending).to_have_count(0)
    assert shop.count("scraps", "ready") == 1


def test_an_act_that_fails_keeps_the_selection_and_is_tried_again(page: Page, shop: Shop, watches: list[Watch]) -> None:
    watches[0].expected.append("ERR_FAILED")
    shop.put_many("vouchers", 3)
    page.goto("/queues/default/demo/vouchers/?state=ready")
    delete = page.locator("#jobs-form").get_by_role("button", name="Delete")
    expect(delete).to_be_disabled()

    page.get_by_label("Select all on this page").check()
    expect(page.get_by_text("3 selected")).to_be_visible()
    page.route("**/act", lambda route: route.abort(), times=1)
    delete.click()
    question = page.get_by_role("dialog", name="Delete 3 ready jobs from vouchers?")
    expect(question).to_be_visible()
    assert find_barriers(page) == []
    keep_picture(page, "delete-question-desktop", full_page=False)
    question.get_by_role("button", name="Delete 3 jobs").click()
    expect(page.get_by_role("alert")).to_contain_text("That did not work: the server does not answer.")
    expect(page.get_by_text("3 selected")).to_be_visible()
    assert shop.count("vouchers", "ready") == 3
    assert find_barriers(page) == []
    keep_picture(page, "act-failed-desktop")

    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    expect(page.get_by_text("to be deleted")).to_have_count(3)
    assert shop.count("vouchers", "ready") == 3
    page.close()
    wait_until(lambda: shop.count("vouchers", "ready") == 0, or_fail="the server does not delete", timeout_s=40)


def test_what_a_filter_of_the_queue_matches_is_respawned(page: Page, shop: Shop) -> None:
    shop.bury("letters", "421 smtp timeout", jobs=7)
    shop.bury("letters", "550 no such mailbox", jobs=2)
    page.goto("/queues/default/demo/letters/?state=dead")
    page.get_by_text("Search these jobs").first.click()
    page.get_by_label("Last error").fill("smtp")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator("tr[data-key]")).to_have_count(7)
    page.wait_for_load_state()  # before, the new page has no script that asks first

    page.locator("form[data-bulk]").get_by_role("button", name="Respawn").click()
    page.get_by_role("dialog").get_by_role("button", name="Respawn all matches").click()
    expect(page.locator("#bulk-said")).to_contain_text("7")
    page.locator("#bulk-close").click()

    assert (shop.count("letters", "ready"), shop.count("letters", "dead")) == (7, 2)


def test_an_act_on_very_many_stops_where_it_is_cancelled(page: Page, shop: Shop) -> None:
    shop.put_many("leaflets", 1_200, delay=3_600)
    held: list[Route] = []
    sent = 0

    def hold_the_second(route: Route) -> None:
        nonlocal sent
        sent += 1
        if sent == 2:
            held.append(route)
        else:
            route.continue_()

    page.route("**/act-on-all", hold_the_second)
    page.goto("/queues/default/demo/leaflets/?state=delayed")
    page.locator("form[data-bulk]").get_by_role("button", name="Make ready now").click()
    page.get_by_role("dialog").get_by_role("button", name="Make 1,200 jobs ready").click()
    said = page.locator("#bulk-said")
    expect(said).to_contain_text("500 done")

    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    held[0].continue_()
    expect(page.locator("#bulk-close")).to_be_visible()

    expect(said).to_contain_text("1,000 done")
    assert sent == 2
    assert shop.count("leaflets", "delayed") == 200


def test_a_search_that_is_not_through_goes_on_when_asked(page: Page, shop: Shop) -> None:
    shop.put_many("haystack", 5_600)
    needle = shop.put("haystack", b"a needle")
    shop.put_many("haystack", 5_600)
    page.goto("/queues/default/demo/haystack/?state=ready&body=needle")
    expect(page.get_by_text("searched 5,000 of 11,201 jobs")).to_be_visible()
    expect(page.get_by_role("link", name=needle)).to_have_count(0)

    page.get_by_role("link", name="Keep searching").click()

    expect(page.get_by_role("link", name=needle)).to_be_visible()
    expect(page.get_by_text("searched 10,000 of 11,201 jobs")).to_be_visible()


@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_a_group_that_fills_is_flushed_at_once(width: str, take_page: TakePage, shop: Shop) -> None:
    queue = f"letters-{width}"
    for number in range(7):
        shop.call("PUT", f"/api/demo/{queue}?group=digest+of+Alice", b"%d" % number)
    shop.call("PUT", f"/api/demo/{queue}?group=Bob", b"later")
    shop.call("PUT", f"/api/demo/{queue}?group=Bob&delay=600", b"later")
    page = take_page(width)
    page.goto(f"/queues/default/demo/{queue}/")
    row = page.get_by_role("row").filter(has_text="digest of Alice")
    expect(row).to_contain_text("7 / 500")
    assert find_barriers(page) == []
    keep_picture(page, f"groups-{width}")

    row.get_by_role("button", name="Flush now").click()
    expect(page.get_by_role("status").filter(has_text="Flushed: 7 members.")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="7 / 500")).to_have_count(0)
    assert shop.count(queue, "ready") == 1
