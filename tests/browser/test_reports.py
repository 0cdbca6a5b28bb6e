"""Reports from end to end: real jobs, drained into the lake, counted by Spark, read in a browser."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from tests.browser.contexts import PHONE
from tests.browser.looking import find_barriers, keep_picture, sticks_out, wait_for_charts
from tests.browser.service import Shop
from tests.running.processes import run_manage
from tests.support.waiting import wait_until

QUEUE: Final = "vases"
ERROR: Final = "the glass broke"
SPARK_TIMEOUT_S: Final = 600.0
"""Some 10 s on a machine that has nothing else to do."""
CLOSE_TO_MIDNIGHT: Final = timedelta(seconds=30)
"""What happens to the jobs happens on one day; it may be reported on the next."""


@pytest.fixture(scope="module")
def day(shop: Shop) -> str:
    """Today in UTC, reported: of 7 jobs 4 acked, one of them at its second try, and 2 dead; the last one waits."""
    pytest.importorskip("pyspark", reason="taskq is installed without its extra `reports`")
    wait_until(_is_early_enough, or_fail="it is always close to midnight", timeout_s=60)
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    for number in range(6):
        shop.put(QUEUE, b"a vase %d" % number, tries=2 if number == 0 else 1)
    for outcome in ("fail", "ack", "ack", "ack", "fail", "fail"):
        job_id = shop.take(QUEUE, consumer="packer-1")
        if outcome == "fail":
            shop.call("POST", f"/api/demo/{QUEUE}/job/{job_id}/fail", f'{{"error": "{ERROR}", "delay": 0}}')
        else:
            shop.call("DELETE", f"/api/demo/{QUEUE}/job/{job_id}")
    job_id = shop.take(QUEUE, consumer="packer-2", timeout=10)
    shop.call("DELETE", f"/api/demo/{QUEUE}/job/{job_id}")
    shop.put(QUEUE, b"the last vase")
    _manage(shop, "runpump", "--once")
    said = _manage(shop, "runreport", "--date", today)
    assert re.search(rf"^{today}: [\d,]+ events, [\d,]+ rows, \d+\.\d s$", said, re.MULTILINE), said
    return today


def _is_early_enough() -> bool:
    now = datetime.now(UTC)
    return (now + CLOSE_TO_MIDNIGHT).date() == now.date()


def _manage(shop: Shop, *arguments: str) -> str:
    env = shop.service.family.environment(TASKQ_DATA_DIR=str(shop.service.data_dir), REDIS_URL=shop.redis.url)
    done = run_manage(*arguments, env=env, timeout_s=SPARK_TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tile(page: Page, title: str) -> str:
    """What a key figure says."""
    return page.locator(".tile").filter(has_text=re.compile(f"^{title}")).locator("dd").first.inner_text()


def test_the_page_shows_what_happened_to_real_jobs(page: Page, shop: Shop, day: str) -> None:
    page.goto(f"/queues/default/demo/{QUEUE}/")
    page.get_by_role("link", name="Latest report of this queue").click()

    expect(page).to_have_url(re.compile(f"/reports/{day}/default/demo/{QUEUE}/$"))
    figures = ("Published", "Delivered", "Acked", "Success rate", "Failed attempts", "Dead", "Expired")
    assert {name: tile(page, name) for name in figures} == {
        "Published": "7",
        "Delivered": "7",
        "Acked": "4",
        "Success rate": "66.7 %",
        "Failed attempts": "3",
        "Dead": "2",
        "Expired": "0",
    }
    expect(page.get_by_text("Not the whole day.")).to_be_visible()
    row = page.get_by_role("row").filter(has_text=ERROR)
    expect(row.get_by_role("cell").first).to_have_text("3")
    row.get_by_role("link").click()
    expect(page.get_by_text(ERROR).first).to_be_visible()


def test_one_finds_the_way_from_the_day_to_the_queue_and_back(page: Page, day: str) -> None:
    page.goto("/")
    page.get_by_role("link", name=f"of {day}").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"Report of {day}")

    page.get_by_label("Name", exact=True).fill(QUEUE)
    page.get_by_role("button", name="Filter").click()
    table = page.locator("#queues")
    expect(table.locator("tbody tr")).to_have_count(1)
    table.get_by_role("link", name=QUEUE, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(QUEUE)
    page.get_by_role("link", name=f"Report of {day}").click()
    expect(page).to_have_url(re.compile(f"/reports/{day}/$"))


def test_a_heat_map_is_read_cell_by_cell_with_the_keys(page: Page, day: str) -> None:
    page.goto(f"/reports/{day}/default/demo/")
    wait_for_charts(page)
    plot = page.locator("#heat .chart-plot")
    plot.focus()

    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")

    read = plot.locator(".chart-read")
    expect(read).to_contain_text("00:00–01:00 UTC")
    assert read.locator("div").count() == 1
    first = read.inner_text()
    page.keyboard.press("ArrowUp")
    assert read.inner_text() != first


def test_a_table_is_downloaded(page: Page, day: str) -> None:
    page.goto(f"/reports/{day}/default/demo/{QUEUE}/")

    with page.expect_download() as download:
        page.get_by_role("link", name="Hours as CSV").click()

    assert download.value.suggested_filename == f"taskq-{day}-default-demo-{QUEUE}-hours.csv"
    head, *rows = download.value.path().read_text().splitlines()
    published = head.split(",").index("published")
    assert sum(int(row.split(",")[published]) for row in rows) == 7


def test_the_summary_fits_two_sheets_of_paper(page: Page, day: str) -> None:
    page.goto(f"/reports/{day}/print/")
    wait_for_charts(page)

    printed = page.pdf(prefer_css_page_size=True)

    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 2


@pytest.mark.parametrize("path", ["", "default/demo/", f"default/demo/{QUEUE}/", "print/", "?with={other}"])
def test_a_report_is_for_everybody(path: str, day: str, page: Page) -> None:
    other = f"{datetime.fromisoformat(day) - timedelta(days=1):%Y-%m-%d}"
    page.goto(f"/reports/{day}/{path.format(other=other)}")
    wait_for_charts(page)
    name = f"report-{re.sub(r'[^a-z]+', '-', path).strip('-') or 'day'}"

    barriers = find_barriers(page)
    keep_picture(page, f"{name}-desktop")
    page.emulate_media(color_scheme="dark")
    barriers += find_barriers(page, of_theme=True)
    keep_picture(page, f"{name}-desktop-dark")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(PHONE)
    page.evaluate("document.querySelectorAll('.merged td').forEach((cell) => { cell.textContent = '> 99.99 %'; })")
    wide = sticks_out(page)
    of_days = page.locator(".scroll:has(> .merged)")
    fits = [box.evaluate("(box) => box.scrollWidth <= box.clientWidth") for box in of_days.all()]
    barriers += find_barriers(page)
    keep_picture(page, f"{name}-phone")

    assert barriers == []
    assert wide == [], "it scrolls sideways on a phone"
    assert all(fits)
