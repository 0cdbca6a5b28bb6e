"""Everything that matches a filter is respawned, in batches with progress, and nothing else is touched; the page keeps
up to date, but never under the hands of who is busy with it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import TakePage
from tests.browser.looking import find_barriers, keep_picture
from tests.browser.service import ADDRESS_ERROR, SMTP_ERROR, Shop
from tests.browser.watching import Watch
from tests.support.waiting import wait_until


@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_all_that_match_a_filter_are_respawned_and_no_others(width: str, take_page: TakePage, shop: Shop) -> None:
    queue = f"statements-{width}"
    shop.bury(queue, SMTP_ERROR, jobs=60)
    shop.bury(queue, ADDRESS_ERROR, jobs=5)
    page = take_page(width)
    page.goto("/dead/")
    page.get_by_label("Queue", exact=True).fill(queue)
    page.get_by_label("Text of the error").fill("smtp")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("#dead-matched")).to_have_text("60")
    page.wait_for_load_state()  # before, the new page has no script that asks first
    keep_picture(page, f"dead-filtered-{width}")

    page.get_by_role("button", name="Respawn all that match").click()
    question = page.get_by_role("dialog", name="Respawn every match among 65 dead letters of")
    expect(question).to_be_visible()
    assert find_barriers(page) == []
    question.get_by_role("button", name="Respawn all matches").click()
    progress = page.get_by_role("dialog", name="Respawning")
    expect(progress.get_by_role("status")).to_contain_text("60 done")
    keep_picture(page, f"dead-respawned-{width}", full_page=False)
    progress.get_by_role("button", name="Close").click()

    expect(page.locator("#dead-matched")).to_have_text("0")
    assert (shop.count(queue, "ready"), shop.count(queue, "dead")) == (60, 5)


def test_what_is_asked_can_be_taken_back(page: Page, shop: Shop) -> None:
    shop.bury("claims", ADDRESS_ERROR, jobs=3)
    page.goto("/dead/?queue=claims")

    page.get_by_role("button", name="Delete all that match").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()

    expect(page.get_by_role("dialog")).to_be_hidden()
    assert shop.count("claims", "dead") == 3


def test_selected_ones_are_deleted_after_a_question(page: Page, shop: Shop, watches: list[Watch]) -> None:
    shop.bury("refusals", ADDRESS_ERROR, jobs=3)
    page.goto("/dead/?queue=refusals")

    page.locator("#dead-rows input[type=checkbox]").nth(0).check()
    page.locator("#dead-rows input[type=checkbox]").nth(1).check()
    watches[0].expected.append("ERR_FAILED")
    page.route("**/dead/act", lambda route: route.abort(), times=1)
    page.get_by_role("button", name="Delete selected").click()
    question = page.get_by_role("dialog", name="Delete 2 dead letters?")
    question.get_by_role("button", name="Delete 2 jobs").click()
    failed = page.get_by_role("dialog", name="Deleting")
    expect(failed.get_by_role("status")).to_contain_text("the server does not answer.")
    expect(page.locator("#dead-rows input:checked")).to_have_count(2)
    failed.get_by_role("button", name="Try again").click()

    pending = page.get_by_role("status").filter(has_text="Deleting 2 dead letters.")
    pending.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status").filter(has_text="Undone: no job was deleted.")).to_be_visible()
    assert shop.count("refusals", "dead") == 3


REST_MS = 35_000
"""However long the server took, it is asked for the whole page again by then."""


def look_again(page: Page) -> None:
    """Ask now for the news that the page asks for now and then."""
    with page.expect_response("**/dead/news?*"):
        page.locator("#dead-news").dispatch_event("taskq:refresh")


def test_what_dies_meanwhile_is_shown_without_a_reload(page: Page, shop: Shop) -> None:
    page.goto("/dead/?queue=warranties")
    expect(page.get_by_role("heading", name="Nothing matches")).to_be_visible()
    page.evaluate("window.notReloaded = true")

    shop.bury("warranties", SMTP_ERROR, jobs=2)
    look_again(page)
    expect(page.locator("#dead-rows tr")).to_have_count(2)
    shop.bury("warranties", ADDRESS_ERROR, jobs=1)
    look_again(page)

    expect(page.locator("#dead-rows tr")).to_have_count(3, timeout=REST_MS)
    expect(page.locator(".dead-sum")).to_contain_text("3 dead letters")
    expect(page.locator('[data-kind="errors"] tbody tr')).to_have_count(2)
    expect(page.locator("#dead-new")).to_have_count(0)
    page.get_by_label("Select all on this page").check()
    expect(page.get_by_text("3 selected")).to_be_visible()
    expect(page.get_by_role("button", name="Respawn selected")).to_be_enabled()
    assert page.evaluate("window.notReloaded")


def test_who_has_selected_some_is_told_and_keeps_what_is_seen(page: Page, shop: Shop) -> None:
    shop.bury("guarantees", SMTP_ERROR, jobs=2)
    page.goto("/dead/?queue=guarantees")
    page.locator("#dead-rows input[type=checkbox]").first.check()

    shop.bury("guarantees", ADDRESS_ERROR, jobs=1)
    look_again(page)

    news = page.get_by_role("status").filter(has_text="1 job has died since this page was loaded.")
    expect(news).to_be_visible()
    expect(page.locator("#dead-rows tr")).to_have_count(2)
    expect(page.locator("#dead-rows input[type=checkbox]").first).to_be_checked()
    assert find_barriers(page) == []
    keep_picture(page, "dead-news-desktop")
    news.get_by_role("link", name="Refresh").click()
    expect(page.locator("#dead-rows tr")).to_have_count(3)


def test_a_group_is_assigned_muted_and_respawned_at_a_rate_which_is_stopped(page: Page, shop: Shop) -> None:
    error = "551 customer has moved"  # nobody else's: what is muted is muted in all queues, and for as long as the shop
    shop.bury("returns", error, jobs=40)
    page.goto("/dead/?queue=returns")
    group = page.locator('[data-kind="errors"] tbody tr')
    expect(group).to_contain_text(error)
    group.get_by_role("link", name="Assign or mute").click()
    page.get_by_label("Assign to").select_option(shop.username)
    page.get_by_label("Note").fill("asks the provider")
    page.get_by_role("button", name="Assign", exact=True).click()
    expect(page.locator("#triage")).to_contain_text("asks the provider")
    page.get_by_role("button", name="Mute", exact=True).click()
    expect(page.locator("#triage")).to_contain_text("muted until")
    page.wait_for_load_state()  # before, the new page has no script that asks first
    assert find_barriers(page) == []
    keep_picture(page, "dead-group-desktop")

    page.get_by_text("Respawn at a rate").click()
    page.get_by_label("Jobs", exact=True).fill("2")
    page.get_by_role("button", name="Start").click()
    page.locator("#confirm-yes").click()
    respawn = page.locator(".respawn").filter(has_text="returns")
    expect(respawn).to_contain_text("2 a second")
    page.goto("/queues/")  # closed, it goes on
    wait_until(lambda: shop.count("returns", "ready") >= 2, or_fail="nothing was respawned")
    page.goto("/dead/?queue=returns")
    keep_picture(page, "dead-respawn-desktop", full_page=False)
    respawn.get_by_role("button", name="Stop").click()

    expect(respawn).to_contain_text("Respawn stopped")
    left = shop.count("returns", "dead")
    assert left > 0
    assert shop.count("returns", "ready") + left == 40
