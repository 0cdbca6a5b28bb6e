"""The OpenAPI document and the docs page say what the table of routes says."""

from __future__ import annotations

import re

from queues.api.routes import ROUTES
from tests.http.client import Client


def test_the_schema_has_every_route_and_no_other(client: Client) -> None:
    reply = client.call("GET", "/api/schema", headers={"X-Token": ""})

    assert reply.status == 200
    found = {(method.upper(), path) for path, methods in reply.json["paths"].items() for method in methods}
    assert found == {(route.method, route.path) for route in ROUTES}


def test_the_schema_has_every_parameter_and_reply(client: Client) -> None:
    paths = client.call("GET", "/api/schema").json["paths"]

    for route in ROUTES:
        described = paths[route.path][route.method.lower()]
        in_query = {one["name"] for one in described.get("parameters", ()) if one["in"] == "query"}
        in_path = {one["name"] for one in described.get("parameters", ()) if one["in"] == "path"}
        assert in_query == {one.name for one in route.documentation.parameters}, route.name
        assert in_path == set(re.findall(r"\{(\w+)\}", route.path)), route.name
        told = [content for one in described["responses"].values() for content in one.get("content", {"": {}})]
        assert len(told) == len(route.documentation.replies), f"{route.name}: a reply hides another one of its status"
        assert set(described["responses"]) == {str(one.status) for one in route.documentation.replies}, route.name
        assert ("requestBody" in described) == bool(route.documentation.body), route.name


def test_the_docs_page_has_every_route_and_needs_no_other_host(client: Client) -> None:
    reply = client.call("GET", "/api/docs", headers={"X-Token": ""})

    assert reply.status == 200
    page = reply.body.decode()
    assert page.count('<details class="route"') == len(ROUTES)
    linked = re.findall(r'(?:src|href)="([^"#]+)"', page)
    assert all(link.startswith(("/", "data:")) and not link.startswith("//") for link in linked)
    for link in linked:
        if not link.startswith("data:"):
            # The dashboard is behind its sign-in.
            assert client.call("GET", link).status == (302 if link == "/" else 200), link
