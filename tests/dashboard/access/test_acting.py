"""What people may do, and that nothing changes when they may not."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.dashboard.people import People

from .premises import Premises, prepare, send
from .tables import EACH_ACT, JSON, Act

pytestmark = pytest.mark.django_db


@EACH_ACT
def test_who_owns_the_namespace_may_do_it(shop: Premises, people: People, name: str, act: Act) -> None:
    before = prepare(shop, name)
    owner = people.root if act.needs_superuser else people.alice

    assert send(owner.browser, shop, name, act) == act.answer
    assert shop.whole_state() != before


@EACH_ACT
def test_an_operator_may_do_it_unless_it_is_for_owners(shop: Premises, people: People, name: str, act: Act) -> None:
    before = prepare(shop, name)

    assert send(people.olga.browser, shop, name, act) == (403 if act.needs_admin else 302)
    assert (shop.whole_state() == before) == act.needs_admin


@EACH_ACT
def test_nobody_else_may_do_it_and_nothing_changes(
    shop: Premises, people: People, erin: Client, name: str, act: Act
) -> None:
    before = prepare(shop, name)
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(people.alice.user)
    bob, charlie, dave = people.bob.browser, people.charlie.browser, people.dave.browser
    others = {"bob": (bob, 403), "erin": (erin, 403), "charlie": (charlie, act.charlie), "dave": (dave, act.charlie)}
    others |= {"nobody": (people.nobody, 302), "alice, without a token": (strict, 403)}

    answers = {who: send(browser, shop, name, act) for who, (browser, _) in others.items()}

    assert answers == {who: status for who, (_, status) in others.items()}
    assert send(people.nobody, shop, name, act, **JSON) == 401
    assert send(charlie, shop, name, act, **JSON) == (200 if act.charlie == 302 else act.charlie)
    assert shop.whole_state() == before
