"""Limits on the queue's page, and the page of its limit keys: who is throttled, and why."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from queues.engine import consume, pause
from queues.models import Namespace, QueuePolicy
from queues.services.policies import policy_for
from tests.dashboard.people import POOL, SHOP
from tests.dashboard.shop import AT, QUEUE, Shop
from tests.support.rows import in_one_test

from .asking import LIVE, page

pytestmark = pytest.mark.django_db(transaction=True)


def set_policy(**fields: Any) -> None:
    QueuePolicy.objects.create(namespace=Namespace.objects.get(name=SHOP), queue=QUEUE, **fields)


def take(shop: Shop, count: int) -> None:
    """As a consumer over HTTP, for whom the policy holds."""
    policy = policy_for(pool=POOL, namespace=SHOP, queue=QUEUE)
    shop.engine.run(
        consume(
            shop.queue,
            ttr_ms=60_000,
            count=count,
            max_in_flight=policy.max_in_flight or 0,
            queue_limits=policy.queue_limits,
        )
    )


def rows(text: str) -> list[tuple[str, str]]:
    """Key and what it waits for, in order."""
    found = re.findall(
        r'<tr data-key="([^"]*)"[^>]*>(.*?)</tr>',
        text.split('<table class="table stack limit-keys">', 1)[1].split("</table>")[0],
        re.S,
    )
    waits = [re.sub(r"<time.*?</time>", "TIME", row.rsplit("<td", 1)[1].split(">", 1)[1]) for _, row in found]
    return [(key, " ".join(re.sub(r"<[^>]*>", " ", one).split())) for (key, _), one in zip(found, waits, strict=True)]


def test_a_queue_without_limits_and_keys_has_no_such_section(bob: Client, shop: Shop) -> None:
    shop.publish(b"x", key="k")

    assert 'id="limits"' not in page(bob)


def test_the_page_says_who_is_throttled_and_why_those_first(bob: Client, shop: Shop) -> None:
    set_policy(key_in_flight=1, key_rate=0.5, key_burst=2, key_weights="wide=3")
    shop.publish(*[b"x"] * 3, limit_key="acme")
    take(shop, 1)
    shop.publish(b"x", limit_key="calm")
    shop.publish(*[b"x"] * 2, limit_key="wide")

    text = page(bob, "now", **LIVE)

    assert rows(text) == [("acme", "concurrency of the key"), ("calm", "its turn"), ("wide", "its turn")]
    assert "0.5/s, burst 2, 1 in flight at most, weights wide=3" in text
    assert "Whole queue: no limits" in text
    assert "the queue is not throttled" in text


def test_a_rate_says_when_it_is_free_again(bob: Client, shop: Shop) -> None:
    set_policy(key_rate=0.01)
    shop.publish(*[b"x"] * 2, limit_key="acme")
    take(shop, 1)

    ((key, waits),) = rows(page(bob, "now"))

    assert (key, waits) == ("acme", "rate of the key free TIME")


@pytest.mark.parametrize(
    ("policy", "words", "line"),
    [
        ({"max_in_flight": 1}, "concurrency of the queue", "1 of 1 in flight"),
        ({"rate": 0.01, "burst": 1}, "rate of the queue free TIME", "0.01/s, burst 1"),
    ],
)
def test_limits_of_the_queue_hold_up_every_key(
    bob: Client, shop: Shop, policy: dict[str, Any], words: str, line: str
) -> None:
    set_policy(**policy)
    shop.publish(*[b"x"] * 2, limit_key="acme")
    shop.publish(b"x", limit_key="calm")
    take(shop, 1)

    text = page(bob)

    assert sorted(rows(text)) == [("acme", words), ("calm", words)]
    assert f"Whole queue: {line}" in text
    assert "the queue is not throttled" not in text


def test_a_paused_queue_holds_up_its_keys(bob: Client, shop: Shop) -> None:
    shop.publish(b"x", limit_key="acme")
    shop.engine.run(pause(shop.queue))

    assert rows(page(bob)) == [("acme", "the queue is paused")]


def test_many_keys_come_in_pages_and_are_searched_by_their_beginning(bob: Client, shop: Shop) -> None:
    for number in range(60):
        shop.publish(b"x", limit_key=f"tenant {number:02}")

    assert len(rows(page(bob))) == 5
    assert "All 60 limit keys, search" in page(bob)
    first = page(bob, "limit-keys/")
    assert len(rows(first)) == 50
    assert 'href="?after=50"' in first
    assert len(rows(page(bob, "limit-keys/?after=50"))) == 10
    assert [key for key, _ in rows(page(bob, "limit-keys/?q=tenant+5", **LIVE))] == [
        f"tenant {n}" for n in range(50, 60)
    ]
    assert 'href="?q=tenant&amp;after=tenant+49"' in page(bob, "limit-keys/?q=tenant")
    assert len(rows(page(bob, "limit-keys/?q=tenant&after=tenant+49"))) == 10


@in_one_test("query", ["q=nobody", "q=%00", f"q={'é' * 64}", "q=a&after=%0A", "after=999999999"])
def test_a_search_for_nothing_that_there_is_finds_nothing(bob: Client, shop: Shop, query: str) -> None:
    shop.publish(b"x", limit_key="acme")

    answer = bob.get(f"{AT}limit-keys/?{query}")

    assert answer.status_code == 200
    assert '<tr data-key="acme"' not in answer.text
    assert "No limit key matches" in answer.text or "There are no more limit keys" in answer.text


def test_an_address_that_means_nothing_is_the_first_page(bob: Client, shop: Shop) -> None:
    shop.publish(b"x", limit_key="acme")

    assert '<tr data-key="acme"' in page(bob, "limit-keys/?after=-1")


def test_jobs_show_their_limit_key(bob: Client, shop: Shop) -> None:
    (job_id,) = shop.publish(b"x", limit_key="acme<b>")

    assert "limit key</span> acme&lt;b&gt;</bdi>" in page(bob)
    assert f'href="{AT}limit-keys/?q=acme%3Cb%3E"><bdi>acme&lt;b&gt;</bdi>' in page(bob, f"jobs/{job_id}/")
