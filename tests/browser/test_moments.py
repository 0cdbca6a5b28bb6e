"""People type their own time, and see which moment of UTC that is; their zone here is Berlin's."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.service import Shop
from tests.browser.watching import Watch

NOON = "2030-07-01T12:00:00"
NOON_IN_UTC = "2030-07-01 10:00:00 UTC"


def test_a_job_is_rescheduled_to_a_time_of_ones_own(page: Page, shop: Shop) -> None:
    job_id = shop.put("trains", b"7:15", delay=3600, ttl=0)
    page.goto(f"/queues/default/demo/trains/jobs/{job_id}/")

    page.locator("summary").filter(has_text="Reschedule").click()
    at = page.get_by_label("Or at")
    expect(page.locator(".reschedule .help")).to_have_text("your local time")
    at.fill(NOON)
    expect(page.locator(".reschedule .help")).to_have_text(f"= {NOON_IN_UTC}")
    page.get_by_role("button", name="Reschedule").click()

    expect(page.locator(".moment.will_be_due time")).to_have_attribute("datetime", "2030-07-01T10:00:00.000Z")


def test_all_of_a_state_are_rescheduled_to_it(page: Page, shop: Shop) -> None:
    job_id = shop.put("ferries", b"8:40", delay=3600, ttl=0)
    page.goto("/queues/default/demo/ferries/?state=delayed")

    every = page.locator("form[data-bulk]")
    every.locator("summary").click()
    every.get_by_label("Or at").fill(NOON)
    every.get_by_role("button", name="Reschedule").click()
    page.get_by_role("dialog").get_by_role("button", name="Reschedule 1 job").click()
    expect(page.locator("#bulk-said")).to_contain_text("1 done")

    page.goto(f"/queues/default/demo/ferries/jobs/{job_id}/")
    expect(page.locator(".moment.will_be_due time")).to_have_attribute("datetime", "2030-07-01T10:00:00.000Z")


def test_a_form_that_comes_back_has_what_was_typed(page: Page, watches: list[Watch]) -> None:
    watches[0].expected.append("status of 400")
    page.goto("/queues/default/demo/buses/publish/")
    page.get_by_label("Delay (s)").fill("5")
    page.get_by_label("Or due at").fill(NOON)
    page.get_by_role("button", name="Publish", exact=True).click()

    expect(page.get_by_text("Enter a delay or a time, not both.")).to_be_visible()
    expect(page.get_by_label("Or due at")).to_have_value(NOON.removesuffix(":00"))
    expect(page.locator(".field").filter(has_text="Or due at").locator(".help")).to_have_text(f"= {NOON_IN_UTC}")
