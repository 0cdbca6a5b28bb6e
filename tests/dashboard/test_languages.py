"""English and Chinese: by the browser's wish, until somebody chooses."""

from __future__ import annotations

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


def language(browser: Client, **headers: str) -> str:
    return browser.get("/login/", headers=headers)["Content-Language"]


@pytest.mark.parametrize(
    ("wish", "given"), [("zh-CN,zh;q=0.9", "zh-hans"), ("en-GB", "en"), ("fr", "en"), ("zh-hans", "zh-hans")]
)
def test_the_browser_is_heard(wish: str, given: str) -> None:
    assert language(Client(), **{"Accept-Language": wish}) == given


def test_the_page_says_its_language_and_names_each_in_its_own_words() -> None:
    text = Client().get("/login/", headers={"Accept-Language": "zh-CN"}).text

    assert '<html lang="zh-hans">' in text
    assert "English" in text
    assert "简体中文" in text


def test_a_choice_outlives_the_browsers_wish() -> None:
    browser = Client(headers={"Accept-Language": "en"})

    answer = browser.post("/language/", {"language": "zh-hans", "next": "/login/?next=/dead/"})

    assert answer["Location"] == "/login/?next=/dead/"
    assert language(browser) == "zh-hans"


def test_choosing_leads_to_no_other_site() -> None:
    answer = Client().post("/language/", {"language": "en", "next": "https://evil.example/"})

    assert "evil" not in answer["Location"]
