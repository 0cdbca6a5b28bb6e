"""Every row of the contract, over HTTP."""

from __future__ import annotations

import pytest

from queues.api.router import AuthKind
from queues.api.routes import ROUTES
from tests.http.case import Case
from tests.http.cases import CASES, CASES_OF_ROUTES
from tests.http.client import Client, Reply, new_queue
from tests.http.matching import difference
from tests.support.rows import check_each

ANYWHERE = {401, 429, 503, 507}
"""Replies that other modules bring about: they take another server, or a token with a limit."""


@pytest.mark.parametrize("route", CASES_OF_ROUTES)
def test_requests_get_the_reply_of_the_contract_and_change_nothing_if_they_are_refused(
    route: str, client: Client
) -> None:
    check_each(CASES_OF_ROUTES[route], lambda case: _check_reply(case, client), title=lambda case: case.name)


def _check_reply(case: Case, client: Client) -> None:
    queue = new_queue()
    made = {"queue": queue, **case.prepare(client, queue)}
    method, path = fill(case.request, made).split(" ", 1)
    body = fill(case.body, made) if isinstance(case.body, str) else case.body
    before = stats_of(client, queue) if case.status == 400 else None

    reply = client.call(method, path, body, dict(case.headers))

    assert reply.status == case.status, reply
    assert reply.headers["x-request-id"]
    check_body(case.want, reply)
    assert before is None or stats_of(client, queue) == before


def stats_of(client: Client, queue: str) -> dict[str, object]:
    """Without what changes by itself."""
    return {**client.call("GET", f"/api/{{ns}}/{queue}/stats").json, "oldest_ready_ms": 0}


def test_every_documented_reply_of_every_route_is_in_the_table() -> None:
    shown = {(case.route, case.status) for case in CASES}
    said = {
        (route.name, reply.status)
        for route in ROUTES
        if route.auth is not AuthKind.STAFF
        for reply in route.documentation.replies
    }

    assert {one for one in said - shown if one[1] not in ANYWHERE} == set()


def fill(text: str, made: dict[str, str]) -> str:
    for name, value in made.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def check_body(want: object, reply: Reply) -> None:
    if want is None:
        assert reply.body == b""
        assert "content-type" not in reply.headers
    elif isinstance(want, bytes):
        assert reply.body == want
        assert reply.headers["content-type"] == "application/octet-stream"
        assert reply.headers["x-content-type-options"] == "nosniff"
    else:
        assert reply.headers["content-type"] == "application/json; charset=utf-8"
        assert difference(want, reply.json) == ""
