"""What people are shown, and what they are not."""

from __future__ import annotations

from itertools import product

import pytest
from django.test import Client
from django.urls import reverse

from tests.dashboard.people import People

from .premises import Premises, text_of
from .tables import ACTS, DELAYED, EACH_PAGE, JSON, LIVE, PAGES, SECRETS

pytestmark = pytest.mark.django_db


@EACH_PAGE
def test_who_may_look_is_shown_it_and_who_may_not_is_shown_nothing(
    shop: Premises, people: People, erin: Client, name: str
) -> None:
    """One shop for all of them: nothing of what is shown to some may be kept, and shown to others."""
    shop.work()
    before = shop.whole_state()

    who_may_is_shown_it(shop, people, erin, name)
    who_is_in_another_namespace_or_in_none_is_shown_nothing(shop, people, name)
    nobody_is_sent_to_the_sign_in(shop, people, name)
    it_is_only_read(shop, people, name)

    assert shop.whole_state() == before


def who_may_is_shown_it(shop: Premises, people: People, erin: Client, name: str) -> None:
    page, url = PAGES[name], shop.url(name)
    readers = {
        "alice": (people.alice.browser, page.alice),
        "olga": (people.olga.browser, page.olga),
        "bob": (people.bob.browser, page.bob),
        "erin": (erin, page.bob if page.erin is None else page.erin),
    }

    for who, (browser, status) in readers.items():
        answer = browser.get(url, shop.said(page.query))
        assert answer.status_code == status, who
        assert status != 200 or shop.said({"": page.sees})[""] in text_of(answer), who


def who_is_in_another_namespace_or_in_none_is_shown_nothing(shop: Premises, people: People, name: str) -> None:
    page, url, query = PAGES[name], shop.url(name), shop.said(PAGES[name].query)
    secrets = {*SECRETS, *shop.ids.values()} - {*query.values()}

    to_dave = page.charlie if page.dave is None else page.dave
    strangers = ((people.charlie, page.charlie), (people.dave, to_dave))
    for (person, status), headers in product(strangers, ({}, LIVE, JSON)):
        answer = person.browser.get(url, query, headers=headers)
        told = text_of(answer).replace(url, "")  # the form that changes the language leads back to where one asked for
        assert answer.status_code == status
        assert [secret for secret in secrets if secret in told] == []


def nobody_is_sent_to_the_sign_in(shop: Premises, people: People, name: str) -> None:
    url = shop.url(name)

    for headers in ({}, LIVE, JSON):
        answer = people.nobody.get(url, headers=headers)
        assert (answer.status_code, answer.content) == (302, b"")
        assert answer["Location"] == f"/login/?next={url}"


def it_is_only_read(shop: Premises, people: People, name: str) -> None:
    browser, url = people.alice.browser, shop.url(name)

    methods = [browser.put, browser.delete, *([] if name in ACTS else [browser.post])]
    assert {ask(url, headers=JSON).status_code for ask in methods} == {405}


@pytest.mark.parametrize("kind", ["backlog", "throughput"])
def test_charts_count_only_what_may_be_seen(shop: Premises, people: People, kind: str) -> None:
    url = reverse("dashboard:overview_charts")

    def numbers(browser: Client) -> set[int]:
        series = browser.get(url).json()["charts"][kind]["series"]
        return {value for line in series for value in line["values"] if value}

    assert numbers(people.charlie.browser) == set()
    assert numbers(people.dave.browser) == set()
    assert kind == "throughput" or DELAYED in numbers(people.bob.browser)
