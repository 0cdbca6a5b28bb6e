"""A form whose secret is no longer good: nothing is done, and a page says what to do now."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from .people import People

PAUSE = "/queues/default/shop/mail/pause"


def strict(people: People, **headers: str) -> Client:
    """Alice's browser, and a site that asks for secrets."""
    browser = Client(enforce_csrf_checks=True, headers={"Accept": "text/html", **headers})
    browser.force_login(people.alice.user)
    return browser


def test_who_sends_it_is_told_what_to_do_and_led_back(people: People) -> None:
    page = "http://testserver/queues/default/shop/mail/?state=dead&error=%22"

    answer = strict(people).post(PAUSE, headers={"Referer": page})

    assert answer.status_code == 403
    assert "This form is too old" in answer.text
    assert "sign in if it asks you to" in answer.text
    assert f'href="{page.replace("&", "&amp;")}">Load the page again</a>' in answer.text


@pytest.mark.parametrize("page", ["", "https://evil.example/form", "javascript:alert(1)"])
def test_no_other_site_is_led_to(people: People, page: str) -> None:
    answer = strict(people).post(PAUSE, headers={"Referer": page})

    assert answer.status_code == 403
    assert re.findall(r'href="([^"]*)"', answer.text.partition("<main>")[2]) == ["/"]


def test_it_is_chinese_for_who_reads_chinese(people: People) -> None:
    answer = strict(people, **{"Accept-Language": "zh-CN"}).post(PAUSE, headers={"Referer": "http://testserver/"})

    words = re.sub(r"<[^>]+>", " ", answer.text.partition("<main>")[2])
    assert answer.status_code == 403
    assert re.findall(r"[A-Za-z]{3,}", words) == ["Cookie"]


def test_a_script_gets_the_same_words_for_its_reader(people: People) -> None:
    answer = strict(people).post(PAUSE, headers={"Accept": "application/json"})
    chinese = strict(people, **{"Accept-Language": "zh-CN"}).post(PAUSE, headers={"Accept": "application/json"})

    assert (answer.status_code, answer.json()["error"][:35]) == (403, "This form is too old. Nothing was c")
    assert re.findall(r"[A-Za-z]{3,}", chinese.json()["error"]) == ["Cookie"]


def test_the_api_asks_for_tokens_and_not_for_such_secrets(people: People) -> None:
    answer = strict(people).put("/api/shop/mail", b"x", headers={"X-Token": "wrong"})

    assert answer.status_code == 401
    assert answer.headers["Content-Type"].startswith("application/json")
