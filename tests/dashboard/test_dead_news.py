"""The page of the dead letters is told when they are no longer those that it shows, without looking at a single one."""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import parse_qsl

import pytest
from django.test import Client

from tests.support.burying import bury

from .people import People

LIVE = {"X-Live": "1"}


def news_url(browser: Client, **query: str) -> str:
    """What the page asks now and then."""
    (url,) = re.findall(r'id="dead-news" data-live="([^"]+)"', browser.get("/dead/", query).text)
    return html.unescape(url)


def news(browser: Client, url: str) -> str:
    answer = browser.get(url, headers=LIVE)
    assert answer.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", answer.text).split())


def respawn(browser: Client, job_id: str) -> None:
    answer = browser.post("/dead/act", {"do": "respawn-selected", "letter": f"default/shop/mail/{job_id}"})
    assert answer.status_code == 302


def test_while_nothing_happens_there_is_no_news(people: People) -> None:
    bury("shop", "mail", ["timeout"])
    url = news_url(people.alice.browser)

    first = people.alice.browser.get(url, headers=LIVE)
    again = people.alice.browser.get(url, headers=LIVE | {"If-None-Match": first["ETag"]})

    assert (first.text.strip(), again.status_code) == ("", 304)


def test_what_died_since_is_counted_in_the_namespaces_of_the_person_alone(people: People) -> None:
    bury("shop", "mail", ["timeout"])
    of_alice, of_charlie = news_url(people.alice.browser), news_url(people.charlie.browser)

    bury("shop", "mail", ["timeout"])
    bury("shop", "pay", ["timeout", "boom"])

    assert news(people.alice.browser, of_alice).startswith("3 jobs have died since this page was loaded.")
    assert news(people.charlie.browser, of_charlie) == ""


@pytest.mark.parametrize(("query", "told"), [({"queue": "mail"}, "1 job has died since"), ({"queue": "pay"}, "")])
def test_news_is_of_what_the_filter_means(people: People, query: dict[str, str], told: str) -> None:
    bury("shop", "mail", ["timeout"])
    bury("shop", "pay", ["timeout"])
    url = news_url(people.alice.browser, **query)

    bury("shop", "mail", ["boom"])

    assert news(people.alice.browser, url)[: len(told) or None] == told


def test_what_is_gone_is_news_too(people: People) -> None:
    (job_id, _) = bury("shop", "mail", ["timeout", "boom"])
    url = news_url(people.alice.browser)

    respawn(people.alice.browser, job_id)

    assert news(people.alice.browser, url).startswith("Some of these dead letters are gone by now.")


def test_a_death_beside_a_respawn_is_not_missed(people: People) -> None:
    (job_id,) = bury("shop", "mail", ["timeout"])
    url = news_url(people.alice.browser)

    respawn(people.alice.browser, job_id)
    bury("shop", "mail", ["timeout"])

    assert news(people.alice.browser, url).startswith("1 job has died since this page was loaded.")


def test_a_later_page_hears_of_deaths_alone(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.views.dead_letters.ROWS", 2)
    bury("shop", "mail", ["timeout"] * 3)
    (following,) = re.findall(r'rel="next" href="\?([^"]+)"', people.alice.browser.get("/dead/").text)
    query = dict(parse_qsl(html.unescape(following)))
    url = news_url(people.alice.browser, **query)
    assert news(people.alice.browser, url) == ""

    bury("shop", "mail", ["timeout"], now_ms=int(query["before_ms"]) + 1_000)

    assert news(people.alice.browser, url).startswith("1 job has died since this page was loaded.")


def test_no_dead_letter_is_read_for_it(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    bury("shop", "mail", ["timeout"])
    url = news_url(people.alice.browser)

    def refuse(**_: Any) -> None:
        raise AssertionError("letters were looked at")

    monkeypatch.setattr("queues.services.dead_letters.scanning.scan_queues", refuse)

    assert news(people.alice.browser, url) == ""


def test_the_part_that_changes_comes_alone(people: People) -> None:
    bury("shop", "mail", ["timeout"])

    part = people.alice.browser.get("/dead/", headers=LIVE).text

    assert "<html" not in part
    assert 'id="dead-news"' in part
    assert 'data-kind="errors"' in part


@pytest.mark.parametrize("since", ["x", "-1", "9" * 15])
def test_a_moment_that_is_none_is_refused(people: People, since: str) -> None:
    assert people.alice.browser.get("/dead/news", {"since_ms": since}).status_code == 400
