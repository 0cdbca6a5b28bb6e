"""Every route is known."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.dashboard.people import People

from .premises import Premises
from .tables import ACTS, OPEN, PAGES, SECRETS, routes

pytestmark = pytest.mark.django_db


def test_every_route_is_in_a_table_and_every_entry_is_a_route() -> None:
    assert sorted(routes()) == sorted({*PAGES, *ACTS, *OPEN})


def test_what_is_open_to_everybody_shows_nothing_and_is_guarded_against_other_sites(
    shop: Premises, people: People, strict: Client
) -> None:
    signing_in = people.nobody.get("/login/")
    assert signing_in.status_code == 200
    assert [secret for secret in (*SECRETS, *shop.ids.values()) if secret in signing_in.text] == []
    assert [strict.post(path).status_code for path in ("/login/", "/logout/", "/language/")] == [403] * 3
    assert people.alice.browser.get("/logout/").status_code == 405
    assert people.alice.browser.get("/totals").status_code == 200
    assert people.alice.browser.post("/logout/").status_code == 302
    assert people.alice.browser.get("/totals").status_code == 302
