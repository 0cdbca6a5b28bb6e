"""Who may look at a queue, and who may do what with it."""

from __future__ import annotations

import pytest
from django.test import Client

from queues.engine import PublishOptions, publish
from queues.models import Pool
from tests.dashboard.people import People
from tests.dashboard.shop import AT, QUEUE, Shop

from .asking import noted, page

pytestmark = pytest.mark.django_db(transaction=True)


GETS = ("", "now", "jobs", "charts/waits", "limit-keys/", "publish/", "policy/")
POSTS = ("publish/", "policy/", "empty", "pause", "resume", "act", "act-on-all")
FULL = {
    "body": "x",
    "encoding": "text",
    "act": "delete",
    "state": "ready",
    "confirmed": "yes",
    "word": QUEUE,
    "job": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
}


def test_charlie_sees_nothing_and_does_nothing(people: People, shop: Shop) -> None:
    shop.publish(b"x")
    charlie = people.charlie.browser
    before = shop.counts()

    for path in GETS:
        assert charlie.get(AT + path).status_code == 404, path
    for path in POSTS:
        assert charlie.post(AT + path, FULL).status_code == 404, path
    assert shop.counts() == before
    assert noted() == []


def test_bob_looks_and_does_nothing(bob: Client, shop: Shop) -> None:
    shop.publish(b"x")

    text = page(bob)
    assert 'name="act"' not in text
    assert 'type="checkbox" name="job"' not in text
    assert [bob.get(AT + path).status_code for path in GETS] == [200, 200, 200, 200, 200, 403, 403]
    for path in POSTS:
        assert bob.post(AT + path, FULL).status_code == 403, path
    assert shop.counts() == {"ready": 1}
    assert noted() == []


def test_an_operator_neither_empties_nor_sets_policies(olga: Client, shop: Shop) -> None:
    shop.publish(b"x")

    for path in ("policy/", "empty"):
        assert olga.post(AT + path, FULL).status_code == 403, path
    assert "Empty" not in page(olga)
    assert shop.counts() == {"ready": 1}


def test_who_is_not_signed_in_is_sent_to_the_sign_in(shop: Shop) -> None:
    for path in GETS:
        assert Client().get(AT + path)["Location"].startswith("/login/?next="), path
    for path in POSTS:
        assert Client().post(AT + path, FULL)["Location"].startswith("/login/?next="), path


def test_actions_need_a_csrf_token_and_post(shop: Shop, alice: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = alice.cookies
    for path in POSTS:
        assert strict.post(AT + path, FULL).status_code == 403, path
    for path in ("empty", "pause", "resume", "act", "act-on-all"):
        assert alice.get(AT + path).status_code == 405, path


def test_what_no_queue_can_be_called_is_not_found(alice: Client) -> None:
    for name in ("_internal", "a b", "é", "x" * 256):
        assert alice.get(f"/queues/default/shop/{name}/").status_code == 404, name
    assert alice.get("/queues/nowhere/shop/orders/").status_code == 404


def test_when_redis_is_away_the_page_says_so(alice: Client) -> None:
    Pool.objects.update(url="unix:///nowhere/redis.sock")

    for path in ("", "now", "jobs"):
        response = alice.get(AT + path)
        assert response.status_code == 503, path
        assert "Redis does not answer" in response.content.decode()


def test_other_queues_jobs_are_never_listed(alice: Client, shop: Shop) -> None:
    other = shop.engine.queue("bank", QUEUE)
    (secret,) = shop.engine.run(publish(other, [b"x"], PublishOptions())).job_ids

    assert secret not in page(alice)
    assert f"/jobs/{secret}/" not in page(alice, "?id=" + secret)
