"""Views of the list of queues: kept under a name, for one user; a tab each, marked where one is."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.test import Client

from queues.models import SavedView
from queues.services.saved_views import NAME_MAX, VIEWS_MAX, list_views

from .people import People

pytestmark = pytest.mark.django_db(transaction=True)

LATE = "state=ready&sort=-oldest&columns=ready,oldest"


def save(browser: Client, name: str, query: str = LATE) -> tuple[int, str]:
    answer = browser.post("/queues/views/save", {"name": name, "query": query})
    return answer.status_code, answer.get("Location", "")


def tabs(browser: Client, query: str = "") -> list[tuple[str, str, bool]]:
    """Address, title, and whether it is this page, of each."""
    text = browser.get(f"/queues/{query}").content.decode()
    (bar,) = re.findall(r'<nav class="tabs views".*?</nav>', text, re.DOTALL)
    found = re.findall(r'<a href="([^"]+)"( aria-current="page")?>([^<]+)</a>', bar)
    return [(unescape(url), unescape(title), bool(here)) for url, here, title in found]


def test_a_view_is_a_tab_that_leads_to_it(people: People) -> None:
    assert tabs(people.bob.browser) == [
        ("/queues/", "All queues", True),
        ("/queues/?state=attention", "With incidents", False),
    ]

    status, location = save(people.bob.browser, "  Late   ones ")

    url = f"/queues/?{LATE}"
    assert (status, location) == (302, url)
    assert (url, "Late ones", False) in tabs(people.bob.browser)
    here = tabs(people.bob.browser, f"?{LATE}&page=1")
    assert [title for _url, title, is_here in here if is_here] == ["Late ones"]


def test_a_name_that_is_used_gets_the_new_view(people: People) -> None:
    save(people.bob.browser, "Mine")
    save(people.bob.browser, "Mine", "q=mails&columns=dead&nonsense=1&page=7&sort=what")

    views = list_views(user=people.bob.user, page="queues")

    assert [(view.name, view.query) for view in views] == [("Mine", "q=mails&columns=dead")]


def test_nobody_sees_or_deletes_another_s(people: People) -> None:
    save(people.bob.browser, "Bob's")

    assert [title for _url, title, _here in tabs(people.alice.browser)] == ["All queues", "With incidents"]
    people.alice.browser.post("/queues/views/delete", {"name": "Bob's"})
    assert SavedView.objects.count() == 1

    people.bob.browser.post("/queues/views/delete", {"name": "Bob's"})
    assert SavedView.objects.count() == 0


@pytest.mark.parametrize("name", ["", "   ", "x" * (NAME_MAX + 1)])
def test_a_view_needs_a_name(name: str, people: People) -> None:
    assert save(people.bob.browser, name)[0] == 400
    assert not SavedView.objects.exists()


def test_there_is_an_end_to_them(people: People) -> None:
    SavedView.objects.bulk_create(
        SavedView(user=people.bob.user, page="queues", name=f"{number}", query=LATE) for number in range(VIEWS_MAX)
    )

    assert save(people.bob.browser, "One more")[0] == 400
    assert save(people.bob.browser, "7", "q=x")[0] == 302, "one of them may still be changed"
    assert SavedView.objects.count() == VIEWS_MAX


def test_strangers_keep_nothing(people: People) -> None:
    assert save(people.nobody, "Mine")[0] == 302
    assert not SavedView.objects.exists()
