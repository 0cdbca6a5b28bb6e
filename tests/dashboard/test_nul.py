"""U+0000 in what is sent: PostgreSQL refuses it in a text and in JSON, so no page may hand it to the database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from django.db import connection

from tests.support.burying import bury
from tests.support.rows import in_one_test

from .people import POOL, SHOP, People

pytestmark = pytest.mark.django_db(transaction=True)

NUL = "a\0b"
QUEUE_AT = f"/queues/{POOL}/{SHOP}/orders"


@pytest.fixture
def refusing() -> Iterator[None]:
    """A database that is as strict as PostgreSQL."""

    def execute(run: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        values = params.values() if isinstance(params, Mapping) else params or ()
        texts = [text for text in values if isinstance(text, str)]
        assert not any("\0" in text or "\\u0000" in text for text in texts), sql
        return run(sql, params, many, context)

    with connection.execute_wrapper(execute):
        yield


POSTS = (
    ("/dead/triage", {"do": "assign", "pool": POOL, "namespace": SHOP, "like": "x", "to": NUL}),
    ("/dead/triage", {"do": "unmute", "pool": NUL, "namespace": SHOP, "like": "x"}),
    ("/dead/triage", {"do": "unmute", "pool": POOL, "namespace": NUL, "like": "x"}),
    ("/dead/triage", {"do": "unmute", "pool": POOL, "namespace": SHOP, "like": NUL}),
    ("/dead/respawns/start", {"error": NUL, "rate": "1", "unit": "s"}),
    ("/dead/act", {"do": "delete-all", "error": NUL, "word": "delete", "confirmed": "yes", "undo": "yes"}),
    ("/tokens/new", {"namespace": NUL, "description": "x"}),
    ("/tokens/new", {"namespace": f"{NUL}/{SHOP}", "description": "x"}),
    (f"/tokens/{POOL}/{SHOP}/a%00b/revoke", {"confirmed": "yes"}),
    (f"/namespaces/{POOL}/a%00b/delete", {"word": NUL, "confirmed": "yes"}),
    (f"/namespaces/{POOL}/{SHOP}/edit", {"description": NUL}),
    ("/namespaces/new", {"pool": POOL, "name": NUL, "description": ""}),
    ("/queues/views/save", {"name": NUL, "query": f"q={NUL}"}),
    ("/queues/views/delete", {"name": NUL}),
    (
        f"{QUEUE_AT}/act-on-all",
        {"act": "delete", "state": "ready", "body": NUL, "word": "orders", "confirmed": "yes", "undo": "yes"},
    ),
)
GETS = (
    f"/namespaces/{POOL}/a%00b/",
    f"/namespaces/{POOL}/a%00b/policy",
    f"/namespaces/{POOL}/{SHOP}/backoff?queue=a%00b&backoff=fixed:1",
    f"/queues/{POOL}/a%00b/orders/",
    "/namespaces/?q=a%00b",
    "/policies/?q=a%00b",
    "/tokens/?q=a%00b&namespace=a%00b/c",
    "/find?q=a%00b",
    "/palette?q=a%00b",
    "/dead/?error=a%00b",
    "/dead/download?error=a%00b&as=json",
    "/activity/download?who=a%00b",
)


@pytest.mark.usefixtures("refusing")
@in_one_test(("path", "fields"), POSTS)
def test_a_form_with_it(people: People, path: str, fields: dict[str, str]) -> None:
    bury(SHOP, "mail", ["boom"])
    for person in (people.alice, people.root):
        assert person.browser.post(path, fields).status_code in (200, 302, 400, 403, 404)


@pytest.mark.usefixtures("refusing")
@in_one_test("path", GETS)
def test_an_address_with_it(people: People, path: str) -> None:
    for person in (people.alice, people.root):
        assert person.browser.get(path).status_code in (200, 302, 400, 403, 404)
