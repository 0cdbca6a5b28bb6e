"""Whatever a job's body holds, looking at it harms nobody."""

from __future__ import annotations

import os
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from tests.browser.contexts import PHONE
from tests.browser.looking import find_barriers, keep_picture, sticks_out
from tests.browser.service import Shop

QUEUE: Final = "hostile-bodies"

BODIES: Final[dict[str, bytes]] = {
    "script": b"""</pre></template><script>document.title='taken over'</script>"""
    b"""<img src=x onerror="alert(1)">{{ 7*7 }}""",
    "html-in-json": b'{"<script>alert(1)</script>": "</script><svg onload=alert(1)>", "__proto__": {"x": 1}}',
    "one-mebibyte": b"A" * (1024 * 1024),
    "one-mebibyte-of-json": b'{"a":[' + b",".join([b'{"k":"<b>v</b>"}'] * 61_000) + b"]}",
    "binary": os.urandom(4096),
    "deep-json": b"[" * 100_000 + b"]" * 100_000,
    "turned-round": "invoice\u202egnp.exe \u200b\u2066hidden".encode(),
}


@pytest.fixture(scope="module")
def job_ids(shop: Shop) -> dict[str, str]:
    """Of a job with each body, all in one queue."""
    return {name: shop.put(QUEUE, body, delay=3600) for name, body in BODIES.items()}


# What would go wrong (a script run, an alert, a request, a refused style) the page's watch hears.
def test_hostile_bodies_are_peeked_at_and_do_nothing(page: Page, job_ids: dict[str, str]) -> None:
    page.goto(f"/queues/default/demo/{QUEUE}/?state=delayed")
    for summary in page.locator("details.peek > summary").all():
        summary.click()

    expect(page.locator(".peek-box pre")).to_have_count(len(job_ids))
    assert page.locator(".peek-box pre").locator("img, script, svg, b").count() == 0
    assert "taken over" not in page.title()


@pytest.mark.parametrize("name", BODIES)
def test_a_hostile_body_is_shown_and_does_nothing(name: str, page: Page, job_ids: dict[str, str]) -> None:
    page.goto(f"/queues/default/demo/{QUEUE}/jobs/{job_ids[name]}/")

    expect(page.locator(".shown-body pre")).to_be_visible()
    assert (
        page.locator(".shown-body pre img, .shown-body pre script, .shown-body pre svg, .shown-body pre b").count() == 0
    )
    assert "taken over" not in page.title()
    page.set_viewport_size(PHONE)
    assert sticks_out(page) == []
    assert find_barriers(page) == []
    keep_picture(page, f"hostile-{name}-phone", full_page=False)


def test_a_consumers_name_is_text_too(page: Page, shop: Shop) -> None:
    shop.put("hostile-name", b"1")
    shop.take("hostile-name", consumer="<img src=x onerror=alert(1)>", ttr=600)

    page.goto("/consumers/?q=hostile-name")

    expect(page.get_by_role("row").filter(has_text="<img src=x onerror=alert(1)>")).to_be_visible()
    assert page.locator("main img").count() == 0
