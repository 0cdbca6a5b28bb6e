"""What is done with everything that matches, batch after batch."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from queues.engine import JobState
from queues.models import Activity
from tests.dashboard.shop import Shop

from .asking import JSON, noted, page, page_after, post

pytestmark = pytest.mark.django_db(transaction=True)


def all_of(client: Client, **data: Any) -> list[dict[str, Any]]:
    """Batches until the end, as queue.js asks for them."""
    answers: list[dict[str, Any]] = []
    sent = {"confirmed": "yes", "run": "r1"} | data
    while not answers or answers[-1]["cursor"]:
        assert len(answers) < 100
        answers.append(post(client, "act-on-all", sent, status=200, **JSON))
        sent |= {"after": answers[-1]["cursor"] or "", "before_ms": answers[-1]["before_ms"] or ""}
    return answers


def bury(shop: Shop, number: int, error: str) -> None:
    shop.publish(*[b"x"] * number)
    for _ in range(number):
        job = shop.take_one()
        shop.fail(job, error)


def test_everything_that_matches_is_respawned_in_batches(olga: Client, shop: Shop) -> None:
    bury(shop, 30, "Disk full")
    bury(shop, 20, "Timeout")

    answers = all_of(olga, act="respawn", state="dead", error="disk")

    assert sum(answer["done"] for answer in answers) == 30
    assert answers[0]["size"] == 50
    assert shop.counts() == {"ready": 30, "dead": 20}
    assert noted() == [("olga", "respawned", 30)]
    assert Activity.objects.latest("pk").detail == "all dead, error: disk"


def test_all_jobs_of_a_state_take_as_many_batches_as_needed(alice: Client, shop: Shop) -> None:
    for _ in range(2):
        shop.publish(*[b"x"] * 800)

    answers = all_of(alice, act="delete", state="ready", word="orders")

    assert [answer["done"] for answer in answers] == [500, 500, 500, 100]
    assert shop.counts() == {}
    assert noted() == [("alice", "deleted", 1600)]


def test_rescheduling_all_comes_to_an_end_though_jobs_move_behind_the_cursor(olga: Client, shop: Shop) -> None:
    shop.publish(*[b"x"] * 700, delay_ms=60_000)

    answers = all_of(olga, act="reschedule", state="delayed", later="1", unit="3600")

    assert sum(answer["done"] for answer in answers) == 700
    assert shop.counts() == {"delayed": 700}


def test_a_job_that_dies_again_meanwhile_is_not_respawned_again(olga: Client, shop: Shop) -> None:
    bury(shop, 1, "boom")
    first = post(olga, "act-on-all", {"act": "respawn", "state": "dead", "confirmed": "yes"}, status=200, **JSON)
    shop.wait_a_moment()
    shop.fail(shop.take_one(), "boom")

    sent = {"act": "respawn", "state": "dead", "confirmed": "yes", "before_ms": first["before_ms"]}
    second = post(olga, "act-on-all", sent, status=200, **JSON)

    assert (first["done"], second["done"], second["looked_at"]) == (1, 0, 1)
    assert shop.counts() == {"dead": 1}


def test_deleting_everything_is_for_administrators(olga: Client, shop: Shop) -> None:
    shop.publish(b"x")

    post(olga, "act-on-all", {"act": "delete", "state": "ready", "confirmed": "yes"}, status=403, **JSON)

    assert shop.counts() == {"ready": 1}
    assert "data-bulk" not in page(olga)


def test_everything_is_not_done_before_it_is_confirmed(alice: Client, shop: Shop) -> None:
    shop.publish(b"x")

    assert "not_confirmed" in str(post(alice, "act-on-all", {"act": "delete", "state": "ready"}, status=400, **JSON))
    asked = post(alice, "act-on-all", {"act": "delete", "state": "ready", "body": "x"}, status=200).content.decode()
    without_word = {"act": "delete", "state": "ready", "confirmed": "yes"}
    unnamed = post(alice, "act-on-all", without_word, status=400).content.decode()

    assert 'name="body" value="x"' in asked
    assert "Delete every match among 1 ready job from orders?" in asked
    assert "Delete 1 ready job from orders?" in unnamed
    assert "To confirm, type <code>orders</code>" in unnamed
    assert shop.counts() == {"ready": 1}


def test_the_button_says_how_many(alice: Client, shop: Shop) -> None:
    shop.publish(*[b"x"] * 300)

    shown = page(alice)

    assert 'data-confirm="Delete 300 ready jobs from orders?" data-confirm-yes="Delete 300 jobs"' in shown
    assert 'data-confirm-word="orders"' in shown
    assert 'data-confirm="Delete {count} ready jobs from orders?" data-confirm-yes="Delete {count} jobs"' in shown


def test_without_a_script_one_batch_is_done_and_the_rest_is_told_of(alice: Client, shop: Shop) -> None:
    shop.publish(*[b"x"] * 700)

    response = post(alice, "act-on-all", {"act": "delete", "state": "ready", "confirmed": "yes", "word": "orders"})

    assert "Done: 500 jobs. There may be more" in page_after(alice, response)


@pytest.mark.parametrize("act", ["ack", "release", "delete"])
def test_what_is_worked_on_is_not_acted_upon_as_a_whole(alice: Client, shop: Shop, act: str) -> None:
    shop.job_in(JobState.WORKING)

    post(alice, "act-on-all", {"act": act, "state": "working", "confirmed": "yes"}, status=400, **JSON)
