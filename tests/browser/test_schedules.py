"""The form of a schedule where scripts run: fields of its kind only, and the next fires while one types."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.service import Shop


def test_the_next_fires_are_listed_while_one_types(page: Page, shop: Shop) -> None:
    page.goto("/schedules/default/demo/new")
    fires = page.locator("#preview li")
    expect(page.locator("#preview")).to_contain_text("to see its next 10 fires")
    expect(page.locator("[data-preview-button]")).to_be_hidden()

    page.get_by_label("Cron expression").fill("0 0 1 1 *")
    page.get_by_label("Time zone").fill("Asia/Shanghai")
    expect(fires).to_have_count(10)
    expect(fires.first).to_contain_text("-01-01 00:00:00 +08:00")

    page.get_by_label("Cron expression").fill("61 * * * *")
    expect(page.locator("#preview .error")).to_contain_text('minute "61" cannot be read')

    page.get_by_label("Fires", exact=True).select_option("interval")
    expect(page.get_by_label("Cron expression")).to_be_hidden()
    page.get_by_label("Every", exact=True).fill("90")
    expect(fires).to_have_count(10)


def test_a_schedule_is_made_run_paused_and_deleted(page: Page, shop: Shop) -> None:
    page.goto("/schedules/")
    page.get_by_role("button", name="New schedule").click()
    page.get_by_label("Name", exact=True).fill("by-hand")
    page.get_by_label("Fires", exact=True).select_option("interval")
    page.get_by_label("Every", exact=True).fill("30")
    page.get_by_label("Unit").select_option("86400")
    page.get_by_label("Queue", exact=True).fill("by-clock")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="by-hand")).to_be_visible()

    page.get_by_role("button", name="Run now").click()
    expect(page.locator("table .pill.ok")).to_have_text("fired")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".page-head .pill")).to_have_text("paused")
    page.wait_for_load_state()  # before, the new page has no script that asks first
    page.get_by_role("button", name="Delete…").click()
    page.locator("#confirm-yes").click()
    expect(page.get_by_role("status").filter(has_text="The schedule is deleted.")).to_be_visible()
    assert shop.call("GET", "/api/demo/by-clock")[0] == 200  # and nothing is left for other tests to count
    shop.call("DELETE", "/api/demo/by-clock?all=1")
