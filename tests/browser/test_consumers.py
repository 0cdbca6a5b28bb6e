"""Who waits and works is seen without reload."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.looking import SOON_MS
from tests.browser.service import Shop


def test_a_consumer_that_begins_to_wait_appears_by_itself(page: Page, shop: Shop) -> None:
    page.goto("/consumers/?q=night-shift")
    expect(page.get_by_role("heading", name="No matching consumers")).to_be_visible()

    shop.wait_for_job("night-work", consumer="night-shift-7")

    row = page.get_by_role("row").filter(has_text="night-shift-7")
    expect(row).to_contain_text("waiting", timeout=SOON_MS)
    expect(row).to_contain_text("127.0.0.1")
    expect(row.get_by_role("link", name="night-work")).to_be_visible()


def test_a_job_in_hand_is_linked_from_who_has_it(page: Page, shop: Shop) -> None:
    shop.put("parcels", b"a parcel")
    job_id = shop.take("parcels", consumer="packer-3", ttr=600)

    page.goto("/consumers/?by=queue&q=parcels")
    row = page.get_by_role("row").filter(has_text="parcels")
    row.get_by_role("link", name="packer-3").click()
    expect(page.get_by_role("row").filter(has_text="packer-3")).to_contain_text("working")
    page.get_by_role("link", name=job_id).click()

    expect(page).to_have_url(f"{shop.url}/queues/default/demo/parcels/jobs/{job_id}/")


def test_filters_stay_in_the_address_and_in_the_form(page: Page) -> None:
    page.goto("/consumers/")
    page.get_by_label("Name, address or queue").fill("analyst")
    page.get_by_label("State").select_option("working")
    page.get_by_role("button", name="Filter").click()

    expect(page.get_by_role("row").filter(has_text="analyst-1")).to_be_visible()
    assert "q=analyst" in page.url
    page.reload()
    expect(page.get_by_label("Name, address or queue")).to_have_value("analyst")
    expect(page.get_by_label("State")).to_have_value("working")
