"""A page of another site cannot use the password that a browser keeps for the admin routes."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, Final

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from queues.api.docs import SchemaView
from queues.api.router import AuthKind, Route
from queues.api.routes import ROUTES
from queues.api.staff import SAFE_METHODS
from queues.api.views import OperationView
from queues.models import Token

CHANGING: Final = [route for route in ROUTES if route.auth is AuthKind.STAFF and route.method not in SAFE_METHODS]
BASIC: Final = "Basic " + base64.b64encode(b"root:pw").decode()
CHOSEN: Final = "a-secret-that-the-attacker-knows"

Headers = dict[str, str]

FOREIGN: Final[tuple[Headers, ...]] = (
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "something-new"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://testserver"},
    {"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example"},
    {"Origin": "https://evil.example"},
    {"Origin": "https://testserver.evil.example"},
    {"Origin": "https://eviltestserver"},
    {"Origin": "http://testserver:8080"},
    {"Origin": "http://user@testserver"},
    {"Origin": "null"},
    {"Origin": "testserver"},
    {"Origin": "://testserver"},
    {"Origin": "http://[::1"},
)
OWN: Final[tuple[Headers, ...]] = (
    {},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "same-origin", "Origin": "http://testserver"},
    {"Origin": "https://testserver"},
    {"Origin": "https://testserver:443"},
    {"Origin": "http://TestServer:80"},
)


@pytest.fixture
def browser(db: None) -> Client:
    User.objects.create_superuser("root", password="pw")
    return Client()


def call(browser: Client, route: Route, headers: Headers) -> Any:
    path = route.path.replace("{namespace}", "shop").replace("{token}", "x")
    query = f"?description=x&token={CHOSEN}&status=disable"
    return browser.generic(
        route.method, path + query, headers={"Host": "testserver", "Authorization": BASIC, **headers}
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("route", CHANGING, ids=lambda route: route.name)
def test_every_route_that_changes_something_refuses_other_sites(browser: Client, route: Route) -> None:
    for headers in FOREIGN:
        answer = call(browser, route, headers)
        assert (answer.status_code, answer.json()["error"][:26]) == (403, "cross-site request refused"), headers
    assert not Token.objects.exists()
    for headers in OWN:
        assert call(browser, route, headers).status_code != 403, headers


@pytest.mark.django_db(transaction=True)
def test_an_origin_that_the_operator_trusts_may(browser: Client, settings: Any) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://taskq.example", "https://*.pages.example"]
    trusted = ("https://taskq.example", "https://a.pages.example")
    others = (
        "http://taskq.example",
        "https://taskq.example.evil",
        "https://evilpages.example",
        "https://pages.example.x",
    )
    route = next(route for route in CHANGING if route.path == "/accesslog")

    assert {call(browser, route, {"Origin": one, "Sec-Fetch-Site": "cross-site"}).status_code for one in trusted} == {
        200
    }
    assert {call(browser, route, {"Origin": one}).status_code for one in others} == {403}


def test_nothing_else_is_exempt_from_the_check_of_forms() -> None:
    """Views without Django's CSRF check are those of the table of routes, and the schema, which only reads."""
    exempt = {view for view in every_view() if getattr(view, "csrf_exempt", False)}
    classes = {getattr(view, "cls", view) for view in exempt}

    assert {one for one in classes if not issubclass(one, OperationView)} == {SchemaView}
    assert set(SchemaView().allowed_methods) <= SAFE_METHODS


def every_view(patterns: Any = None) -> Iterator[Any]:
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(pattern, URLResolver):
            yield from every_view(pattern.url_patterns)
        else:
            assert isinstance(pattern, URLPattern)
            yield pattern.callback
