"""Groups that fill on the page of their queue, and batches on the page of a job."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from queues.engine import JobState
from queues.models import Activity
from tests.dashboard.people import SHOP
from tests.dashboard.shop import QUEUE, Shop

from .asking import noted, page, post

pytestmark = pytest.mark.django_db(transaction=True)


def job_page(browser: Client, job_id: str) -> str:
    response = browser.get(reverse("dashboard:job", args=("default", SHOP, QUEUE, job_id)))
    assert response.status_code == 200
    return response.content.decode()


def test_a_group_that_fills_is_shown_and_flushed(olga: Client, shop: Shop) -> None:
    shop.publish(b"1", b"2", group="letters <b>", group_max_size=40)
    shop.publish(b"3", group="later", delay_ms=60_000)
    shown = page(olga)
    assert "letters &lt;b&gt;" in shown
    assert "2 / 40" in shown
    assert "1 member joins later" in shown

    post(olga, "flush-group", {"group": "letters <b>"})

    assert "groups-title" in page(olga)
    assert "2 / 40" not in page(olga)
    assert noted() == [("olga", "flushed", 2)]
    assert Activity.objects.get().target == "letters <b>"


def test_who_may_only_look_flushes_nothing(bob: Client, shop: Shop) -> None:
    shop.job_in(JobState.GROUPED)
    assert "flush-group" not in page(bob)

    post(bob, "flush-group", {"group": "mails"}, status=403)


def test_a_queue_without_groups_has_no_such_table(olga: Client, shop: Shop) -> None:
    shop.publish(b"x")

    assert "groups-title" not in page(olga)


def test_a_group_that_is_none_is_refused(olga: Client, shop: Shop) -> None:
    post(olga, "flush-group", {"group": ""}, status=400)


def test_pages_of_members_and_batches_lead_from_one_to_the_other(alice: Client, shop: Shop) -> None:
    member = shop.job_in(JobState.GROUPED, body=b"dear alice")
    assert "Grouped" in job_page(alice, member)
    post(alice, "flush-group", {"group": "mails"})
    batch = shop.take_one()

    shown = job_page(alice, member)

    assert "dear alice" in shown
    assert f"jobs/{batch}/" in shown
    assert "Part of the batch" in shown
    assert member in job_page(alice, batch)
