"""Tokens in the dashboard: made, shown once, found, revoked."""

from __future__ import annotations

import re
from typing import Final

import pytest
from django.test import Client

from queues.models import Activity, Token, TokenLimit
from queues.services.errors import InvalidTokenError
from queues.services.tokens.authentication import authorise
from queues.services.tokens.managing import create_token
from tests.support.rows import in_one_test

from .people import BANK, POOL, SHOP, People

SHOWN: Final = re.compile(r'<pre id="token-secret">([^<]+)</pre>')


def make(browser: Client, **more: str) -> str:
    """Through the form; the token as the page shows it."""
    answer = browser.post("/tokens/new", {"namespace": f"{POOL}/{SHOP}", "description": "the till"} | more)
    assert answer.status_code == 200, answer.text
    assert "no-store" in answer["Cache-Control"]
    found = SHOWN.search(answer.text)
    assert found
    return found[1]


def test_a_token_is_shown_once_with_code_that_has_it(people: People) -> None:
    alice = people.alice.browser
    answer = alice.post("/tokens/new", {"namespace": f"{POOL}/{SHOP}", "description": "the till"})

    found = SHOWN.search(answer.text)
    assert found
    assert authorise(pool=POOL, namespace=SHOP, secret=found[1]).namespace == SHOP
    assert answer.text.count(found[1]) > 6, "in the code of every language"
    listed = alice.get("/tokens/").text
    assert "the till" in listed
    assert found[1] not in listed
    assert [(one.action, one.who) for one in Activity.objects.filter(action="token_created")] == [
        ("token_created", "alice")
    ]


def test_a_script_gets_the_token_as_json(people: People) -> None:
    form = {"namespace": f"{POOL}/{SHOP}", "description": "the till"}

    answer = people.alice.browser.post("/tokens/new", form, headers={"Accept": "application/json"})
    wrong = people.alice.browser.post(
        "/tokens/new", form | {"description": " "}, headers={"Accept": "application/json"}
    )

    assert authorise(pool=POOL, namespace=SHOP, secret=answer.json()["token"]).token_id == answer.json()["id"]
    assert "no-store" in answer["Cache-Control"]
    assert wrong.status_code == 400
    assert wrong.json()["error"]


def test_limits_have_units_and_hold(people: People) -> None:
    make(people.alice.browser, write="100", interval_s="1m")

    limit = TokenLimit.objects.get()
    assert (limit.read, limit.write, limit.interval_s) == (0, 100, 60)
    assert "100 publishes" in people.alice.browser.get("/tokens/").text


@in_one_test(
    ("form", "says"),
    [
        ({"description": ""}, "This field is required"),
        ({"secret": "too short"}, "20 to 255 characters"),
        ({"secret": "with a blank in it, and long enough"}, "without blanks"),
        ({"interval_s": "1m"}, "Only with a limit"),
        ({"interval_s": "soon", "read": "1"}, "Write a length of time"),
        ({"read": "-1"}, "greater than or equal to 0"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_made(people: People, form: dict[str, str], says: str) -> None:
    sent = {"namespace": f"{POOL}/{SHOP}", "description": "the till"} | form

    answer = people.alice.browser.post("/tokens/new", sent)

    assert answer.status_code == 400
    assert says in answer.text
    assert not Token.objects.exists()


def test_a_secret_of_ones_own_is_taken_once(people: People) -> None:
    secret = "moved-over-from-elsewhere"
    assert make(people.alice.browser, secret=secret) == secret

    again = people.alice.browser.post(
        "/tokens/new", {"namespace": f"{POOL}/{SHOP}", "description": "again", "secret": secret}
    )

    assert again.status_code == 400
    assert "has a token with that secret already" in again.text


def test_a_superuser_makes_the_namespace_with_its_first_token(people: People) -> None:
    form = {"namespace": "brand-new", "description": "the first"}

    assert people.alice.browser.post("/tokens/new", form).status_code == 404
    assert people.root.browser.post("/tokens/new", form).status_code == 200

    token = Token.objects.get()
    assert (token.namespace.pool.name, token.namespace.name) == (POOL, "brand-new")


def test_a_revoked_token_is_refused_and_can_be_looked_up(people: People) -> None:
    new = create_token(namespace=SHOP, description="the till")
    url, alice = f"/tokens/{POOL}/{SHOP}/{new.public_id}/revoke", people.alice.browser

    asked = alice.post(url)
    assert "Revoke token" in asked.text
    assert not Token.objects.exclude(revoked_at=None).exists()
    assert alice.post(url, {"confirmed": "yes"}).status_code == 302

    with pytest.raises(InvalidTokenError):
        authorise(pool=POOL, namespace=SHOP, secret=new.secret)
    assert new.public_id not in alice.get("/tokens/").text
    assert new.public_id in alice.get("/tokens/?state=revoked").text
    assert alice.post(url, {"confirmed": "yes"}).status_code == 404


def test_filters_find_by_description_id_namespace_and_state(people: People) -> None:
    till = create_token(namespace=SHOP, description="the till")
    vault = create_token(namespace=BANK, description="the vault")
    root = people.root.browser

    def found(query: str) -> set[str]:
        text = root.get(f"/tokens/?{query}").text
        return {name for name, new in (("till", till), ("vault", vault)) if new.public_id in text}

    assert found("") == {"till", "vault"}
    assert found("q=vault") == {"vault"}
    assert found(f"q={till.public_id[:6]}") == {"till"}
    assert found(f"namespace={POOL}/{BANK}") == {"vault"}
    assert found("state=unused") == {"till", "vault"}
    assert found("state=revoked") == set()


def test_a_long_list_has_pages(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queues.services.tokens.reading.PAGE", 2)
    ids = [create_token(namespace=SHOP, description=f"till {number}").public_id for number in range(3)]
    alice = people.alice.browser

    first = alice.get("/tokens/").text
    following = re.search(r'href="(\?before=\d+)"', first)
    assert following
    second = alice.get(f"/tokens/{following[1]}").text

    assert [one in first for one in ids] == [False, True, True]
    assert [one in second for one in ids] == [True, False, False]
