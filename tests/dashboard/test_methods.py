"""The address of a button, opened in a browser, is answered with a page that leads back to the button."""

from __future__ import annotations

import pytest
from django.test import Client

from .people import People

pytestmark = pytest.mark.django_db

QUEUE = "/queues/default/shop/mail/"
JOB = f"{QUEUE}jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV/"
BACK = [
    (f"{QUEUE}pause", QUEUE, "Back to the queue"),
    (f"{QUEUE}empty", QUEUE, "Back to the queue"),
    (f"{JOB}act", JOB, "Back to the job"),
    ("/dead/act", "/dead/", "Back to the dead letters"),
]


@pytest.mark.parametrize(("url", "back", "title"), BACK)
def test_it_leads_back_whoever_opens_it(people: People, url: str, back: str, title: str) -> None:
    for browser in (people.alice.browser, people.nobody):
        answer = browser.get(url)

        assert (answer.status_code, answer["Allow"]) == (405, "POST")
        assert f'href="{back}">{title}</a>' in answer.text
        assert "Nothing was done" in answer.text
        assert "no-store" in answer["Cache-Control"]


def test_signing_out_is_a_button_too(people: People) -> None:
    answer = people.alice.browser.get("/logout/")

    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    assert "To the overview" in answer.text
    assert people.alice.browser.get("/").status_code == 200


def test_a_page_that_is_posted_to_says_how_it_is_asked_for(people: People) -> None:
    answer = people.alice.browser.post("/dead/")

    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")


def test_a_script_is_told_in_json(people: People) -> None:
    answer = people.alice.browser.get(f"{QUEUE}pause", headers={"Accept": "application/json"})

    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    assert answer.json() == {"error": "Nothing was done."}


def test_it_is_chinese_for_who_reads_chinese() -> None:
    text = Client(headers={"Accept-Language": "zh-CN"}).get(f"{QUEUE}pause").text

    assert "返回队列" in text
    assert "Nothing was done" not in text
