"""A queue is paused, resumed and emptied, and its policy set."""

from __future__ import annotations

import pytest
from django.test import Client

from queues.engine import JobState, stats
from queues.models import Activity, QueuePolicy
from tests.dashboard.shop import QUEUE, Shop

from .asking import noted, page, post

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_queue_is_paused_and_resumed(olga: Client, shop: Shop) -> None:
    shop.publish(b"x")

    post(olga, "pause")
    post(olga, "pause")
    assert "Nothing is delivered" in page(olga)
    post(olga, "resume")

    assert "Nothing is delivered" not in page(olga)
    assert noted() == [("olga", "paused", None), ("olga", "resumed", None)]


def test_a_pause_makes_no_queue(olga: Client, shop: Shop) -> None:
    answer = post(olga, "pause", status=404)

    assert "Queue not found" in answer.content.decode()
    assert not shop.engine.run(stats(shop.queue)).paused
    assert noted() == []


def test_how_long_a_job_may_wait_stands_with_the_policy(alice: Client, shop: Shop) -> None:
    shop.publish(b"x")
    assert "300 s" in page(alice)

    post(alice, "policy/", {"objective_s": "45"})

    assert "45 s" in page(alice)
    assert "300 s" not in page(alice)


def test_a_policy_is_set_changed_and_removed(alice: Client, shop: Shop) -> None:
    blank = dict.fromkeys(("ttl_s", "ttr_s", "max_in_flight", "dead_max_age_s", "dead_max_count", "backoff"), "")

    post(alice, "policy/", blank | {"tries": "3", "backoff": "fixed:5"})
    assert 'value="3"' in page(alice, "policy/")
    (policy,) = QueuePolicy.objects.all()
    assert (policy.queue, policy.tries, policy.backoff, policy.ttl_s) == (QUEUE, 3, "fixed:5", None)
    post(alice, "policy/", blank | {"tries": "3", "backoff": "fixed:5"})
    post(alice, "policy/", blank | {"tries": ""})

    assert not QueuePolicy.objects.exists()
    assert noted() == [("alice", "policy_changed", None)] * 2
    details = Activity.objects.filter(action="policy_changed").order_by("pk").values_list("detail", flat=True)
    assert details[0] == "tries: – → 3, backoff:  → fixed:5"


def test_what_is_wrong_with_a_policy_is_said(alice: Client) -> None:
    response = post(alice, "policy/", {"backoff": "often", "tries": "3"}, status=400)

    assert "Expected none, fixed:S" in response.content.decode()
    assert not QueuePolicy.objects.exists()


def test_a_queue_is_emptied_once_its_name_is_typed(alice: Client, shop: Shop) -> None:
    for state in JobState:
        if state is not JobState.READY:
            shop.job_in(state)
    shop.publish(b"x")

    asked = post(alice, "empty", status=200).content.decode()
    assert "To confirm, type" in asked
    post(alice, "empty", {"confirmed": "yes", "word": "other"}, status=400)
    assert sum(shop.counts().values()) == len(JobState)
    post(alice, "empty", {"confirmed": "yes", "word": QUEUE})

    assert shop.counts() == {}
    assert noted() == [("alice", "emptied", len(JobState))]
