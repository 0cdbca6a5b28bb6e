"""Each incident of `manage.py demo`: seen on the overview, and its cause is at most two clicks from there."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from queues.management.demo_incidents import SCENARIOS
from tests.browser.conftest import TakePage
from tests.browser.looking import find_barriers, keep_picture, sticks_out
from tests.browser.service import Shop
from tests.running.processes import manage

SEEDED = ("no_consumer", "dying", "webhooks_dead", "expiring_leases", "slow", "tenants", "paused")
SEEN_WITHIN_MS = 60_000
CLICKS_MAX = 2


def demo(shop: Shop, *arguments: str) -> subprocess.Popen[str]:
    """`manage.py demo` for the service of these tests."""
    env = {
        **os.environ,
        "TASKQ_DATA_DIR": str(shop.service.data_dir),
        "TASKQ_URL": shop.url,
        "REDIS_URL": shop.redis.url,
    }
    for name in ("TASKQ_TOKEN", "DATABASE_URL"):
        env.pop(name, None)
    return manage("demo", *arguments, env=env)


@pytest.fixture(scope="module")
def seeded(shop: Shop) -> Iterator[None]:
    """All at once: it takes some of them half a minute to be incidents."""
    processes = {name: demo(shop, "--incident", name) for name in SEEDED}
    held = {name for name in SEEDED if SCENARIOS[name].hold is not None}
    for name in set(SEEDED) - held:
        _, complaint = processes[name].communicate(timeout=120)
        assert processes[name].returncode == 0, complaint
    yield
    for name in held:
        processes[name].terminate()
        assert processes[name].wait(timeout=60) == 0
    for name in SEEDED:
        said, _ = demo(shop, "--incident", name, "--clear").communicate(timeout=60)
        assert "deleted" in said


class Walk:
    """Somebody who begins at the overview, and whose clicks are counted."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0

    def click(self, target: Locator) -> None:
        self.clicks += 1
        target.click()

    def line(self, queue: str) -> Locator:
        """The line that names the queue."""
        link = self.page.get_by_role("link", name=queue, exact=True)
        return self.page.locator(".incident-list li").filter(has=link).first

    def find(self, queue: str, step: str) -> Locator:
        """The step beside the incident of a queue: on the overview, or one click away where the list is longer, or the
        incident stands in a group."""
        self.page.goto(f"/incidents/?state=open&q={queue}")
        expect(self.line(queue)).to_be_visible(timeout=SEEN_WITHIN_MS)  # it has opened
        self.page.goto("/")
        found = self.line(queue).get_by_role("link", name=step, exact=True)
        if not found.is_visible():
            group = self.line(queue).get_by_role("link", name=re.compile(r"Show all \d+"))
            everything = self.page.get_by_role("link", name=re.compile(r"Show all \d+ incidents"))
            self.click(group if group.is_visible() else everything)
        return found


@pytest.mark.parametrize(
    ("incident", "step", "cause"),
    [
        ("invoices-eu", "invoices-eu", "No active consumers: 300 jobs are ready"),
        ("mails", "View errors", "550 no such host"),
        ("webhooks", "View errors", "Bad Gateway"),
        ("thumbnails", "thumbnails", "Consumers crash, or need more time than the lease allows."),
        ("exports", "Consumers", "slow-1"),
        ("newsletter-drafts", "newsletter-drafts", "Nothing is delivered until the queue is resumed"),
        ("tenant-17", "tenant-17", "No active consumers: 1 job is ready"),
    ],
)
def test_the_cause_of_each_incident_is_two_clicks_away(
    incident: str, step: str, cause: str, seeded: None, page: Page
) -> None:
    walk = Walk(page)

    walk.click(walk.find(incident, step))

    expect(page.get_by_text(cause).first).to_be_visible()
    assert walk.clicks <= CLICKS_MAX


def test_severity_is_that_of_the_impact(seeded: None, page: Page) -> None:
    page.goto("/incidents/?state=open")

    for queue, severity in (("webhooks", "Critical"), ("mails", "Critical"), ("tenant-01", "Info")):
        line = page.locator(".incident-list li").filter(has=page.get_by_role("link", name=queue, exact=True)).first
        expect(line.locator(".pill")).to_have_text(severity, timeout=SEEN_WITHIN_MS)


def test_an_incident_is_acknowledged_from_the_list_and_noted_on_its_page(seeded: None, page: Page) -> None:
    page.goto("/incidents/?state=open&q=webhooks")
    line = page.locator(".incident-list li").filter(has_text="webhooks")
    expect(line).to_be_visible(timeout=SEEN_WITHIN_MS)
    acknowledge = line.get_by_role("button", name="Acknowledge")
    expect(acknowledge).to_be_visible(timeout=SEEN_WITHIN_MS)  # once the watch has written down what a survey has found
    acknowledge.click()
    expect(line).to_contain_text("acknowledged by admin")

    line.get_by_role("link", name="started").click()
    page.get_by_role("textbox", name="Note").fill("the partner's gateway is down")
    page.get_by_role("button", name="Add note").click()
    expect(page.locator(".timeline")).to_contain_text("the partner's gateway is down")
    page.get_by_role("button", name="Remove acknowledgement").click()
    expect(page.get_by_role("button", name="Acknowledge")).to_be_visible()


@pytest.mark.parametrize("path", ["/", "/incidents/", "/queues/default/demo/invoices-eu/"])
def test_pages_with_incidents_are_for_everybody(path: str, seeded: None, take_page: TakePage) -> None:
    name = {"/": "overview", "/incidents/": "incidents"}.get(path, "queue")
    for width in ("desktop", "phone"):
        page = take_page(width)
        page.goto(path)
        expect(page.locator(".incident-list li, .incident-banner").first).to_be_visible(timeout=SEEN_WITHIN_MS)
        for dark in (False, True):
            page.emulate_media(color_scheme="dark" if dark else "light")
            assert find_barriers(page, of_theme=dark) == []
            kept = f"incidents-{name}-{width}{'-dark' if dark else ''}"
            keep_picture(page, kept, full_page=True)
        if width == "phone":
            assert sticks_out(page) == []
