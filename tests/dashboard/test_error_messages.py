"""What somebody does wrong is said in their language, beside the field where it is."""

from __future__ import annotations

import re
from typing import Final

import pytest
from django.test import Client

from dashboard.error_messages import InputError, input_message
from queues.engine.errors import InvalidArgumentError
from tests.support.rows import in_one_test

from .people import People

QUEUE: Final = "/queues/default/shop/orders/"
DELAYED: Final = {"state": "delayed", "job": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}
TYPED: Final = frozenset(
    {"none", "fixed", "linear", "exponential", "sidekiq", "MAX", "NAME", "VALUE", "base64", "MiB", "UTF"}
)
"""What is written in Latin letters in Chinese too."""


PUBLISHED: Final[dict[str, str]] = {
    "tries": "0",
    "priority": "101",
    "backoff": "often",
    "delay_s": "999999",
    "ttl_s": "99999999999",
    "retention_s": "-1",
    "at": "9999-01-01T00:00:00",
    "key": "k" * 256,
    "key_ttl_s": "5",
    "body": "é" * 600_000,
}
"""Fields of the form, and what none of them takes."""

ATTRIBUTES: Final = ("键", "\n".join(f"a{n}=1" for n in range(17)), f"{'n' * 33}=1", f"a={'v' * 129}")


@pytest.fixture
def chinese(people: People) -> Client:
    """Alice's browser, who reads Chinese."""
    browser = Client(headers={"Accept-Language": "zh-CN"})
    browser.force_login(people.alice.user)
    return browser


def told(html: str) -> str:
    """What the page says to be wrong."""
    beside = re.findall(r'<p class="error"[^>]*>(.*?)</p>', html, re.DOTALL)
    above = re.findall(r'<(?:p|div) class="banner bad" role="alert">(.*?)</(?:p|div)>', html, re.DOTALL)
    assert beside + above, "nothing is said"
    return " ".join(re.sub(r"<[^>]+>", " ", text) for text in beside + above)


def english(text: str) -> set[str]:
    """Latin words in it, but those that one types."""
    return set(re.findall(r"[A-Za-z]{3,}", text)) - TYPED


def is_chinese(answer: object) -> bool:
    html = getattr(answer, "text", "")
    return re.search("[\\u4e00-\\u9fff]", told(html)) is not None and english(told(html)) == set()


@in_one_test("field", PUBLISHED)
def test_a_wrong_option_of_a_job_is_told_in_chinese_beside_its_field(chinese: Client, field: str) -> None:
    answer = chinese.post(f"{QUEUE}publish/", {"body": "b", "encoding": "text", field: PUBLISHED[field]})

    assert answer.status_code == 400
    assert is_chinese(answer)
    assert re.search(r'id="id_\w+_error"', answer.text), "it stands beside no field"


@pytest.mark.parametrize("attributes", ATTRIBUTES)
def test_wrong_attributes_are_told_in_chinese(chinese: Client, attributes: str) -> None:
    answer = chinese.post(f"{QUEUE}publish/", {"body": "b", "encoding": "text", "attributes": attributes})

    assert answer.status_code == 400
    assert is_chinese(answer)
    assert 'id="id_attributes_error"' in answer.text


@in_one_test(
    "wrong", [{"tries": "0"}, {"backoff": "often"}, {"ttl_s": "99999999999"}, {"ttr_s": "x"}, {"max_in_flight": "-1"}]
)
def test_a_wrong_policy_is_told_in_chinese(chinese: Client, wrong: dict[str, str]) -> None:
    answer = chinese.post(f"{QUEUE}policy/", wrong)

    assert answer.status_code == 400
    assert is_chinese(answer)


@in_one_test(
    "wrong",
    [
        {"act": "reschedule"},
        {"act": "reschedule", "later": "-1"},
        {"act": "reschedule", "later": "4294967295", "unit": "86400"},
        {"act": "reschedule", "at": "9999-01-01T00:00:00"},
        {"act": "reschedule", "at": "morgen"},
        {"act": "respawn"},
        {"act": "respawn", "state": "dead", "ttl_s": "-1"},
        {"act": "retry", "job": "x"},
    ],
)
def test_an_act_that_makes_no_sense_is_told_in_chinese(chinese: Client, wrong: dict[str, str]) -> None:
    answer = chinese.post(f"{QUEUE}act", DELAYED | wrong)

    assert answer.status_code == 400
    assert is_chinese(answer)


@in_one_test(
    "url",
    [
        "/dead/?queue=a/b",
        "/dead/?namespace=a%20b",
        "/dead/?day=morgen",
        f"/dead/?error={'e' * 1_025}",
        "/dead/?at=x",
        f"{QUEUE}?body={'b' * 2_000}",
        f"/activity/?who={'w' * 2_000}",
        "/activity/?before=x",
    ],
)
def test_an_address_that_makes_no_sense_is_told_in_chinese(chinese: Client, url: str) -> None:
    answer = chinese.get(url)

    assert answer.status_code == 400
    assert is_chinese(answer)


def test_of_two_words_that_begin_alike_each_has_its_own() -> None:
    of_key, of_its_ttl = (
        input_message(InvalidArgumentError("invalid key")),
        input_message(InvalidArgumentError("invalid key_ttl")),
    )

    assert (of_key.field, of_its_ttl.field) == ("key", "key_ttl_s")


def test_what_a_form_says_itself_stays_as_it_is() -> None:
    assert input_message(InputError("In: too large")).words == "In: too large"
