"""The admin's token pages: the secret is shown once and nowhere else, and revoking asks first."""

from __future__ import annotations

import html
import logging
import re
from typing import Any

import pytest
import redis
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.test import Client

from queues.models import Namespace, Token
from queues.services.tokens.authentication import authorise
from queues.services.tokens.managing import NewToken, revoke_token
from tests.support.rows import in_one_test

from .conftest import SECRET

LIST = "/admin/queues/token/"
NO_LIMIT = {"limit-TOTAL_FORMS": 0, "limit-INITIAL_FORMS": 0}


def create(browser: Client, namespace: Namespace, **fields: object) -> Any:
    form = {"namespace": namespace.pk, "description": "web shop", "secret": ""} | NO_LIMIT | fields
    return browser.post(f"{LIST}add/", form)


def secret_on(page: Any) -> str:
    found = re.search(r'id="token-secret">([^<]+)<', page.text)
    assert found, page.text
    return html.unescape(found[1])


def test_the_secret_is_on_the_page_after_creation_and_nowhere_else(
    admin: Client, orders: Namespace, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        page = create(admin, orders)
    assert page.status_code == 200
    assert "no-store" in page["Cache-Control"]
    secret = secret_on(page)
    access = authorise(pool="default", secret=secret, namespace="orders")

    token = Token.objects.get(public_id=access.token_id)
    pages = [
        admin.get(url).text for url in (LIST, f"{LIST}{token.pk}/change/", f"{LIST}{token.pk}/history/", "/admin/")
    ]
    kept = [
        str(list(Token.objects.values())),
        str(list(LogEntry.objects.values())),
        str([session.get_decoded() for session in Session.objects.all()]),
        str([redis_client.get(key) for key in redis_client.scan_iter() if redis_client.type(key) == b"string"]),
        str([vars(record) for record in caplog.records]),
        str(admin.cookies),
    ]
    assert [secret in text for text in pages + kept] == [False] * 10
    assert token.public_id in pages[0]


def test_a_given_secret_is_taken(admin: Client, orders: Namespace) -> None:
    assert secret_on(create(admin, orders, secret=SECRET)) == SECRET
    page = create(admin, orders, secret=SECRET)
    assert "has a token with that secret already" in page.text
    assert "at least 20 characters" in create(admin, orders, secret="short").text
    assert Token.objects.count() == 1


def test_a_limit_is_given_with_the_token(admin: Client, orders: Namespace) -> None:
    limit = {"limit-TOTAL_FORMS": 1, "limit-0-read": 10, "limit-0-write": 0, "limit-0-interval_s": 60}
    secret = secret_on(create(admin, orders, **limit))
    found = authorise(pool="default", secret=secret, namespace="orders").limit
    assert found is not None
    assert (found.read, found.write, found.interval_s) == (10, 0, 60)


@pytest.mark.parametrize("limit", [(0, 0, 60), (1, 1, 0), (-1, 1, 60)])
def test_a_limit_that_makes_no_sense_is_refused(admin: Client, orders: Namespace, limit: tuple[int, int, int]) -> None:
    values = dict(zip(("limit-0-read", "limit-0-write", "limit-0-interval_s"), limit, strict=True))
    page = create(admin, orders, **{"limit-TOTAL_FORMS": 1}, **values)
    assert "Please correct the error" in page.text
    assert not Token.objects.exists()


def test_revoking_asks_first(admin: Client, token: NewToken) -> None:
    row = Token.objects.get()
    form = {"action": "revoke_selected", "_selected_action": [row.pk]}
    page = admin.post(LIST, form)
    assert token.public_id in page.text
    assert 'name="confirmed"' in page.text
    assert Token.objects.get().revoked_at is None

    assert admin.post(LIST, form | {"confirmed": "yes"}).status_code == 302
    assert Token.objects.get().revoked_at is not None
    assert LogEntry.objects.get().change_message == "Revoked."
    assert "Nothing to revoke" in admin.post(LIST, form, follow=True).text


def test_the_token_page_offers_to_revoke_until_it_is(admin: Client, token: NewToken) -> None:
    url = f"{LIST}{Token.objects.get().pk}/change/"
    assert "Revoke this token" in admin.get(url).text
    revoke_token(namespace="orders", public_id_or_secret=token.public_id)
    assert "Revoke this token" not in admin.get(url).text


def test_only_the_description_of_a_token_changes(admin: Client, token: NewToken, default_pool: object) -> None:
    row = Token.objects.get()
    other = Namespace.objects.create(pool=row.namespace.pool, name="emails")
    form = {"description": "new words", "namespace": other.pk, "digest": "x", "public_id": "y"} | NO_LIMIT
    assert admin.post(f"{LIST}{row.pk}/change/", form).status_code == 302
    after = Token.objects.get()
    assert (after.description, after.namespace, after.digest, after.public_id) == (
        "new words",
        row.namespace,
        row.digest,
        row.public_id,
    )


@in_one_test(
    ("query", "found"),
    [("q=web", True), ("q=orders", True), ("q=nothing", False), ("state=unused", True), ("state=revoked", False)],
)
def test_tokens_are_searched_and_filtered(admin: Client, token: NewToken, query: str, found: bool) -> None:
    assert (token.public_id in admin.get(f"{LIST}?{query}").text) == found


def test_staff_without_the_right_to_change_cannot_revoke(alice: Client, token: NewToken) -> None:
    from django.contrib.auth.models import Permission, User

    User.objects.get(username="alice").user_permissions.remove(Permission.objects.get(codename="change_token"))
    form = {"action": "revoke_selected", "_selected_action": [Token.objects.get().pk], "confirmed": "yes"}
    alice.post(LIST, form)
    assert Token.objects.get().revoked_at is None
