"""What people may do, and that nothing changes when they may not."""

from __future__ import annotations

import pytest
from django.test import Client

from queues.engine import JobState
from tests.dashboard.people import BANK, POOL, People

from .premises import Premises, prepare, send
from .tables import EACH_ACT, JSON, PAGES, QUEUE, Act

pytestmark = pytest.mark.django_db


@EACH_ACT
def test_an_operator_may_do_it_unless_it_is_for_owners(shop: Premises, people: People, name: str, act: Act) -> None:
    before = prepare(shop, name)

    assert send(people.olga.browser, shop, name, act) == (403 if act.needs_admin else 302)
    assert (shop.whole_state() == before) == act.needs_admin


@EACH_ACT
def test_nobody_else_may_do_it_and_nothing_changes_until_an_owner_does_it(
    shop: Premises, people: People, erin: Client, name: str, act: Act
) -> None:
    before = prepare(shop, name)
    nobody_else_may_do_it(shop, people, erin, name, act)
    it_is_only_posted_to(shop, people, name, act)
    assert shop.whole_state() == before

    by_way_of_a_namespace_of_ones_own(shop, erin, name, act)
    before_owner = shop.whole_state()
    assert before_owner[:4] == before[:4]

    owner = people.root if act.needs_superuser else people.alice
    assert send(owner.browser, shop, name, act) == act.answer
    assert shop.whole_state() != before_owner


def nobody_else_may_do_it(shop: Premises, people: People, erin: Client, name: str, act: Act) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(people.alice.user)
    bob, charlie, dave = people.bob.browser, people.charlie.browser, people.dave.browser
    others = {"bob": (bob, 403), "erin": (erin, 403), "charlie": (charlie, act.charlie), "dave": (dave, act.charlie)}
    others |= {"nobody": (people.nobody, 302), "alice, without a token": (strict, 403)}

    answers = {who: send(browser, shop, name, act) for who, (browser, _) in others.items()}

    assert answers == {who: status for who, (_, status) in others.items()}
    assert send(people.nobody, shop, name, act, **JSON) == 401
    assert send(charlie, shop, name, act, **JSON) == (200 if act.charlie == 302 else act.charlie)


def it_is_only_posted_to(shop: Premises, people: People, name: str, act: Act) -> None:
    browser, url = people.alice.browser, shop.url(name, of=act.of)

    assert (browser.get(url, PAGES[name].query if name in PAGES else {}).status_code == 405) == (name not in PAGES)
    assert [browser.put(url).status_code, browser.delete(url).status_code] == [405, 405]


def by_way_of_a_namespace_of_ones_own(shop: Premises, erin: Client, name: str, act: Act) -> None:
    form = shop.said(act.form)
    if name == "dead_act":
        form |= {"letter": f"{POOL}/{BANK}/{QUEUE}/{shop.ids[JobState.DEAD]}", "namespace": BANK}

    erin.post(shop.url(name, namespace=BANK, of=act.of), form)
