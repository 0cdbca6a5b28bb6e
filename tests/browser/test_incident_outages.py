"""The incidents of `manage.py demo` that stop a part of the installation: their cause is at most two clicks from the
overview, too. They have a service of their own: one of them lasts for a day."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from queues.embedded import EmbeddedRedis
from queues.management.demo_incidents import SCENARIOS
from tests.browser.looking import SOON_MS, find_barriers, keep_picture
from tests.browser.service import Shop, open_shop
from tests.browser.test_incidents import CLICKS_MAX, SEEDED, Walk, demo
from tests.browser.watching import Watch
from tests.running.services import stop_service


@dataclass(frozen=True, kw_only=True)
class Outage:
    """`says`: on its line, with the cause as far as a line can say it; `step`: the link that leads to the rest.

    `where`: what that link leads to, which says `cause`."""

    says: str
    step: str
    where: str
    cause: str


OUTAGES = {
    "events_dropped": Outage(
        says="The pool's memory for events was full before a pump had written them to the lake.",
        step="started",
        where="#main",
        cause="The pool's memory for events was full before a pump had written them to the lake.",
    ),
    "pump_away": Outage(says="No pump: the last heartbeat was", step="Pools and pumps", where="#pools", cause="silent"),
    "redis_away": Outage(
        says="Redis does not answer. No job is lost, but clients cannot publish or consume.",
        step="Pools and pumps",
        where="#pools",
        cause="down",
    ),
    "report_failed": Outage(
        says="could not be made. Jobs are not affected. The page of the report says why.",
        step="Report",
        where=".spark-error",
        cause="spark://127.0.0.1:1",
    ),
}


@pytest.fixture(scope="module")
def shop(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """In place of the one that all tests share."""
    directory: Path = tmp_path_factory.mktemp("outages")
    with EmbeddedRedis(directory / "redis", persistent=True) as redis:
        shop = open_shop(directory / "data", redis)
        try:
            yield shop
        finally:
            stop_service(shop.service)


@pytest.fixture(scope="module")
def early(shop: Shop) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """What is seeded before the first of these tests: a minute lies between two looks at reports."""
    process = demo(shop, "--incident", "report_failed")
    yield {"report_failed": process}
    process.wait(timeout=180)


@pytest.fixture
def outage(request: pytest.FixtureRequest, shop: Shop, early: dict[str, subprocess.Popen[str]]) -> Iterator[Outage]:
    """Seeded as `manage.py demo --incident NAME` does it."""
    name: str = request.param
    process = early.get(name) or demo(shop, "--incident", name)
    if SCENARIOS[name].hold is None:
        _, complaint = process.communicate(timeout=180)
        assert process.returncode == 0, complaint
    yield OUTAGES[name]
    if SCENARIOS[name].hold is not None:
        process.terminate()
        assert process.wait(timeout=60) == 0
    said, complaint = demo(shop, "--incident", name, "--clear").communicate(timeout=60)
    assert "deleted" in said, complaint


def test_every_incident_of_the_demo_is_looked_at() -> None:
    assert sorted([*SEEDED, *OUTAGES]) == sorted(SCENARIOS)


@pytest.mark.parametrize("outage", list(OUTAGES), indirect=True)
def test_the_cause_of_an_outage_is_two_clicks_away(
    outage: Outage, request: pytest.FixtureRequest, page: Page, watches: list[Watch]
) -> None:
    name = request.node.callspec.params["outage"]
    watches[0].expected += ["status of 503", "answer 503"]
    walk = Walk(page)
    page.goto("/")
    if name == "redis_away":  # an overview that is open keeps its numbers, and says so
        away = page.locator("#away")
        expect(away).to_contain_text("No answer from Redis since", timeout=1_000 * SCENARIOS[name].within_s)
        keep_picture(page, f"outage-{name}-live-desktop")
        walk.click(page.get_by_role("navigation", name="Main").get_by_role("link", name="Overview"))
        expect(page.locator(".chart-none").first).to_have_text("Redis does not answer", timeout=SOON_MS)
    line = page.locator(".incident-list li").filter(has_text=outage.says, has_not_text="no longer seen")
    expect(line).to_be_visible(timeout=2_000 * SCENARIOS[name].within_s)
    keep_picture(page, f"outage-{name}-overview-desktop")

    step = line.get_by_role("link", name=outage.step)
    expect(step).to_be_visible(timeout=SOON_MS)  # when it started is known once a pump has written it down
    walk.click(step)

    expect(page.locator(outage.where)).to_contain_text(outage.cause)
    assert walk.clicks <= CLICKS_MAX
    assert find_barriers(page) == []
    keep_picture(page, f"outage-{name}-cause-desktop")
