"""Jobs are found by what they carry."""

from __future__ import annotations

import pytest
from django.test import Client

from queues.engine import JobState
from queues.engine.constants import SCAN_LOOKS
from queues.services.queues.page import STRETCHES
from tests.dashboard.shop import AT, Shop

from .asking import LIVE, page

pytestmark = pytest.mark.django_db(transaction=True)


def test_filters_find_what_carries_the_text(bob: Client, shop: Shop) -> None:
    wanted = shop.job_in(JobState.DEAD, body=b'{"to": "Ann"}', error="Disk full", key="k-7", attributes={"a": "Bee"})
    other = shop.job_in(JobState.DEAD, error="Timeout", key="x", attributes={"c": "d"})

    for query in ("error=disk", "key=k-", "attribute=a%3Dbee", "attribute=bee", "body=ann", f"id={wanted[-6:]}"):
        text = page(bob, f"?state=dead&{query}")
        assert wanted in text, query
        assert other not in text, query
    whole_id = page(bob, f"?state=dead&id={wanted.lower()}")
    assert wanted in whole_id
    assert "No job matches" in page(bob, f"?state=ready&id={wanted}")


def test_the_filter_stays_in_the_form_and_in_the_tabs(bob: Client, shop: Shop) -> None:
    text = page(bob, "?state=dead&error=a%22%3E%3Cb")

    assert 'name="error" value="a&quot;&gt;&lt;b"' in text
    assert "state=retry&amp;error=a%22%3E%3Cb" in text
    assert '<a class="button" href="?state=dead">Clear</a>' in text
    assert ">Clear</a>" not in page(bob, "?state=dead")


def test_a_long_scan_stops_says_how_far_it_came_and_goes_on(bob: Client, shop: Shop) -> None:
    looks = STRETCHES * SCAN_LOOKS
    for _ in range(looks // 1_000 + 1):
        shop.publish(*[b"no"] * 1_000)
    (wanted,) = shop.publish(b"needle")

    first = page(bob, "?body=needle")
    more = first.split('id="jobs-more" data-more="')[1].split('"')[0].replace("&amp;", "&")
    second = page(bob, more.removeprefix(AT), **LIVE)

    assert f"searched {looks:,} of {looks + 1_001:,} jobs" in first
    assert "Keep searching" in first
    assert "No job matches" not in first
    assert wanted in second
    assert f"searched {looks + 1_001:,} of {looks + 1_001:,} jobs" in second
    assert "Keep searching" not in second


def test_a_filter_that_is_too_long_is_refused(bob: Client) -> None:
    assert bob.get(AT + "?error=" + "x" * 300).status_code == 400
