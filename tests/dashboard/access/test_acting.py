"""What people may do, and that nothing changes when they may not."""

from __future__ import annotations

import pytest
import redis
from django.test import Client

from queues.engine import JobState
from tests.dashboard.people import BANK, POOL, People

from .premises import Premises, prepare, send, undone
from .tables import ACTS, EACH_ACT, EACH_ACTS_ROUTE, JSON, PAGES, QUEUE, Act

pytestmark = pytest.mark.django_db


@EACH_ACT
def test_an_operator_may_do_it_unless_it_is_for_owners(
    shop: Premises, people: People, redis_client: redis.Redis, name: str, act: Act
) -> None:
    people.sign_in()
    with undone(redis_client):
        shop.work()
        before = prepare(shop, name)

        assert send(people.olga.browser, shop, name, act) == (403 if act.needs_admin else 302)
        assert (shop.whole_state() == before) == act.needs_admin


@EACH_ACT
def test_nobody_else_may_do_it_and_nothing_changes_until_an_owner_does_it(
    shop: Premises, people: People, erin: Client, strict: Client, redis_client: redis.Redis, name: str, act: Act
) -> None:
    people.sign_in()
    with undone(redis_client):
        shop.work()
        before = prepare(shop, name)
        nobody_else_may_do_it(shop, people, erin, strict, name, act)
        assert shop.whole_state() == before

        by_way_of_a_namespace_of_ones_own(shop, erin, name, act)
        before_owner = shop.whole_state()
        assert before_owner[:4] == before[:4]

        owner = people.root if act.needs_superuser else people.alice
        assert send(owner.browser, shop, name, act) == act.answer
        assert shop.whole_state() != before_owner


def nobody_else_may_do_it(shop: Premises, people: People, erin: Client, strict: Client, name: str, act: Act) -> None:
    bob, charlie, dave = people.bob.browser, people.charlie.browser, people.dave.browser
    to_stranger = 200 if act.charlie == 302 else act.charlie

    pages = {"bob": bob, "erin": erin, "charlie": charlie, "dave": dave, "nobody": people.nobody}
    pages |= {"alice, without a token": strict}
    scripts = {"erin": erin, "charlie": charlie, "dave": dave, "nobody": people.nobody}

    assert {who: send(browser, shop, name, act) for who, browser in pages.items()} == {
        "bob": 403,
        "erin": 403,
        "charlie": act.charlie,
        "dave": act.charlie,
        "nobody": 302,
        "alice, without a token": 403,
    }
    assert {who: send(browser, shop, name, act, **JSON) for who, browser in scripts.items()} == {
        "erin": 403,
        "charlie": to_stranger,
        "dave": to_stranger,
        "nobody": 401,
    }


@EACH_ACTS_ROUTE
def test_it_is_only_posted_to(shop: Premises, people: People, redis_client: redis.Redis, name: str) -> None:
    people.sign_in()
    with undone(redis_client):
        before = shop.whole_state()
        browser, url = people.alice.browser, shop.url(name, of=ACTS[name][0].of)

        if name not in PAGES:  # test_looking.py looks at those
            assert browser.get(url, headers=JSON).status_code == 405
        assert [ask(url, headers=JSON).status_code for ask in (browser.put, browser.delete)] == [405, 405]
        assert shop.whole_state() == before


def by_way_of_a_namespace_of_ones_own(shop: Premises, erin: Client, name: str, act: Act) -> None:
    form = shop.said(act.form)
    if name == "dead_act":
        form |= {"letter": f"{POOL}/{BANK}/{QUEUE}/{shop.ids[JobState.DEAD]}", "namespace": BANK}

    erin.post(shop.url(name, namespace=BANK, of=act.of), form)
