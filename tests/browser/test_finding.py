"""A job is found from any page by its id."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.looking import SOON_MS, find_barriers, keep_picture, sticks_out
from tests.browser.service import Shop
from tests.browser.watching import Watch


def test_a_pasted_id_leads_to_the_job(page: Page, shop: Shop) -> None:
    page.goto("/reports/")

    page.keyboard.press("/")
    page.keyboard.insert_text(f"  job_id={shop.held_job}, ")
    page.keyboard.press("Enter")

    expect(page).to_have_url(f"{shop.url}/queues/default/demo/reports/jobs/{shop.held_job}/")
    expect(page.get_by_role("heading", level=1)).to_contain_text(shop.held_job)
    expect(page.get_by_text("analyst-1").first).to_be_visible()


def test_an_id_is_pasted_on_a_phone_too(phone: Page, shop: Shop) -> None:
    phone.goto("/consumers/")

    field = phone.get_by_role("searchbox", name="Find a job")
    field.tap()
    field.fill(shop.held_job)
    phone.keyboard.press("Enter")

    expect(phone).to_have_url(f"{shop.url}/queues/default/demo/reports/jobs/{shop.held_job}/")
    expect(phone.get_by_role("heading", level=1)).to_contain_text(shop.held_job)
    expect(phone.get_by_text("analyst-1").first).to_be_visible()
    assert sticks_out(phone) == []
    keep_picture(phone, "found-phone")


def test_an_id_that_is_not_there_is_said_not_to_be(page: Page, watches: list[Watch]) -> None:
    watches[0].expected.append("status of 404")

    page.goto("/find?q=01ARZ3NDEKTSV4RRFFQ69G5FAV")

    expect(page.get_by_role("heading", name="Job not found")).to_be_visible()


def test_the_page_of_a_job_that_redis_does_not_have_looks_in_the_events_by_itself(page: Page) -> None:
    page.goto("/queues/default/demo/emails/jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV/")

    expect(page.get_by_role("status").filter(has_text="no event of it was found")).to_be_visible()
    expect(page.locator("[data-once=done]")).to_have_count(1)


def test_part_of_a_name_leads_to_the_queues_that_have_it(page: Page) -> None:
    page.goto("/")
    page.get_by_role("searchbox", name="Find a job").fill("newslett")
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile(r"/queues/\?q=newslett$"))
    expect(page.get_by_role("link", name="newsletter").first).to_be_visible()


def test_the_palette_leads_to_pages_and_queues_and_acts_on_them(page: Page, shop: Shop) -> None:
    shop.put("parcels-abroad", b"a parcel")
    page.emulate_media(color_scheme="dark")
    page.goto("/reports/")

    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Go to a page or queue")
    expect(field).to_be_focused()
    expect(page.get_by_role("option", name="Overview")).to_have_attribute("aria-selected", "true")
    assert find_barriers(page) == []
    keep_picture(page, "palette-dark", full_page=False)
    page.keyboard.type("workf")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{shop.url}/workflows/")

    page.goto("/queues/?q=parcels-abroad")
    expect(page.get_by_role("link", name="parcels-abroad")).to_be_visible(timeout=SOON_MS)
    page.keyboard.press("Control+k")
    page.keyboard.type("pause parcels-a")
    expect(page.get_by_role("option", name="Pause parcels-abroad")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="Paused: nothing is delivered")).to_be_visible()
    assert shop.call("GET", "/api/demo/parcels-abroad")[0] == 404

    page.wait_for_load_state()  # before, the new page has no script that hears keys
    page.keyboard.press("Control+k")
    page.keyboard.type("delete parcels-a")
    page.get_by_role("option", name="Delete all jobs from parcels-abroad").click()
    page.get_by_role("textbox", name="To confirm").fill("parcels-abroad")
    page.get_by_role("button", name="Delete 1 job").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status").filter(has_text="Undone: no job was deleted.")).to_be_visible()


def test_the_palette_opens_by_its_button_on_every_page_with_the_bar(page: Page) -> None:
    for path in ("/", "/api/docs"):
        page.goto(path)
        button = page.get_by_role("button", name="Command palette")
        expect(button).to_contain_text("Ctrl K")
        button.click()
        page.get_by_role("combobox", name="Go to").fill("dead l")
        expect(page.get_by_role("option", name="Dead letters", exact=True)).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("combobox", name="Go to")).to_be_hidden()


def test_the_palette_fits_a_phone_and_closes(phone: Page) -> None:
    phone.goto("/consumers/")
    phone.get_by_role("button", name="Command palette").tap()
    phone.get_by_role("combobox", name="Go to").fill("q")
    expect(phone.get_by_role("option", name="Queues")).to_be_visible()
    assert sticks_out(phone) == []
    assert find_barriers(phone) == []
    keep_picture(phone, "palette-phone", full_page=False)

    phone.keyboard.press("Escape")
    expect(phone.get_by_role("combobox", name="Go to")).to_be_hidden()
