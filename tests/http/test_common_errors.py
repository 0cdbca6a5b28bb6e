"""What every route answers before it looks at its own business: names, pool, token; and paths that are no route."""

from __future__ import annotations

import re
from typing import Final

import pytest

from queues.api.router import AuthKind, Route
from queues.api.routes import ROUTES
from tests.http.client import Client
from tests.http.service import Server
from tests.support.rows import in_one_test

TOKEN_ROUTES = [route for route in ROUTES if route.auth is AuthKind.TOKEN]
QUEUE_ROUTES = [route for route in TOKEN_ROUTES if "{queue}" in route.path]
FORBIDDEN_QUEUE = {"error": "queue name contains forbidden characters"}
FORBIDDEN_NAMESPACE = {"error": "namespace name contains forbidden characters"}
TOO_LONG = {"error": "namespace or queue name too long"}


def path_of(route: Route, *, namespace: str = "demo", queue: str = "q", job_id: str = "x") -> str:
    return (
        route.path.replace("{namespace}", namespace)
        .replace("{queue}", queue)
        .replace("{job_id}", job_id)
        .replace("{schedule}", "s")
        .replace("{workflow}", "w")
    )


BAD_QUEUES: Final = {
    "a%2Fb": FORBIDDEN_QUEUE,
    "a%20b": FORBIDDEN_QUEUE,
    "%C3%A9": FORBIDDEN_QUEUE,
    "%ff": FORBIDDEN_QUEUE,
    "a%0A": FORBIDDEN_QUEUE,
    "%00": FORBIDDEN_QUEUE,
    "a.b": FORBIDDEN_QUEUE,
    "_a": FORBIDDEN_QUEUE,
    "a" * 256: TOO_LONG,
}
BAD_NAMESPACES: Final = {
    "a%2Fb": FORBIDDEN_NAMESPACE,
    "a%20b": FORBIDDEN_NAMESPACE,
    "%E4%B8%AD": FORBIDDEN_NAMESPACE,
    "a" * 256: TOO_LONG,
}
BAD_TOKENS: Final = {
    "": (401, "token not found"),
    "default:": (401, "token not found"),
    "wrong": (401, "invalid token"),
    "default:wrong": (401, "invalid token"),
    "nowhere:wrong": (404, "pool not found"),
    "nowhere:": (404, "pool not found"),
    "\xe9": (401, "invalid token"),
}


@in_one_test("route", QUEUE_ROUTES, title=lambda route: route.name)
def test_a_bad_queue_name_is_refused(client: Client, route: Route) -> None:
    got = {}
    for queue in BAD_QUEUES:
        reply = client.call(route.method, path_of(route, queue=queue))
        got[queue] = (reply.status, reply.json)

    assert got == {queue: (400, want) for queue, want in BAD_QUEUES.items()}


@in_one_test("route", TOKEN_ROUTES, title=lambda route: route.name)
def test_a_bad_namespace_is_refused(client: Client, route: Route) -> None:
    got = {}
    for namespace in BAD_NAMESPACES:
        reply = client.call(route.method, path_of(route, namespace=namespace))
        got[namespace] = (reply.status, reply.json)

    assert got == {namespace: (400, want) for namespace, want in BAD_NAMESPACES.items()}


@in_one_test("route", TOKEN_ROUTES, title=lambda route: route.name)
def test_a_token_that_opens_nothing_is_refused(server: Server, route: Route) -> None:
    got = {}
    for token in BAD_TOKENS:
        reply = Client(url=server.url, token=token).call(route.method, path_of(route))
        got[token] = (reply.status, reply.json)

    assert got == {token: (status, {"error": words}) for token, (status, words) in BAD_TOKENS.items()}


@in_one_test("route", TOKEN_ROUTES, title=lambda route: route.name)
def test_parameters_are_looked_at_after_the_token(server: Server, route: Route) -> None:
    reply = Client(url=server.url, token="wrong").call(
        route.method, path_of(route) + "?delay=x&ttr=x&limit=x&attempt=x"
    )

    assert reply.status == 401


@pytest.mark.parametrize("header", ["", "default:"], ids=["plain", "with its pool"])
def test_the_token_may_come_in_the_header_or_in_the_query(client: Client, queue: str, header: str) -> None:
    in_header = client.call("GET", f"/api/demo/{queue}/size", headers={"X-Token": header + client.token})
    in_query = client.call("GET", f"/api/demo/{queue}/size?token={header}{client.token}", headers={"X-Token": ""})

    assert (in_header.status, in_query.status) == (200, 200)


def test_the_header_wins_over_the_query(client: Client, queue: str) -> None:
    reply = client.call("GET", f"/api/demo/{queue}/size?token={client.token}", headers={"X-Token": "wrong"})

    assert reply.status == 401


@in_one_test(
    "path",
    ["/api", "/api/", "/api/demo", "/api//q", "/api/demo/q/", "/api/demo/q/x", "/api/demo/q/job/", "/api/a/b/c/d/e/f"],
)
@in_one_test("method", ["GET", "PUT", "POST", "DELETE"])
def test_an_unknown_route_is_not_found(client: Client, method: str, path: str) -> None:
    reply = client.call(method, path, headers={"Accept": "text/html"})

    assert (reply.status, reply.json) == (404, {"error": "api not found"})
    assert reply.headers["x-request-id"]


@in_one_test(
    ("method", "path", "allow"),
    [
        ("POST", "/api/demo/q", "DELETE, GET, PUT"),
        ("HEAD", "/api/demo/q", "DELETE, GET, PUT"),
        ("OPTIONS", "/api/demo/q", "DELETE, GET, PUT"),
        ("PATCH", "/api/demo/q/job/x", "DELETE, GET, PUT"),
        ("DELETE", "/healthz", "GET, HEAD"),
    ],
)
def test_another_method_is_not_allowed(client: Client, method: str, path: str, allow: str) -> None:
    reply = client.call(method, path)

    assert (reply.status, reply.headers["allow"]) == (405, allow)
    assert method == "HEAD" or reply.json == {"error": "method not allowed"}


def test_names_may_be_percent_encoded(client: Client, queue: str) -> None:
    first = client.call("PUT", f"/api/%64emo/%71{queue[1:]}").json["job_id"]
    second = client.publish(f"{queue}b")

    taken = client.call("GET", f"/api/{{ns}}/{queue}%2C{queue}b?count=2").json

    assert [job["job_id"] for job in taken] == [first, second]


def test_a_queue_may_be_called_queues(client: Client) -> None:
    job_id = client.publish("queues", b"x")

    taken = client.call("GET", "/api/{ns}/queues,")

    assert taken.json["job_id"] == job_id


@in_one_test("sent", ["", "with space", "é", "a" * 129, "<script>"])
def test_every_response_has_a_request_id(client: Client, sent: str) -> None:
    reply = client.call("GET", "/healthz", headers={"X-Request-ID": sent.encode().decode("latin-1")})

    assert re.fullmatch("[0-9a-f]{32}", reply.headers["x-request-id"])


@in_one_test("path", ["/healthz", "/api/demo/q/size", "/api/x", "/version", "/nowhere", "/static/nowhere"])
def test_a_sane_request_id_of_the_client_comes_back(client: Client, path: str) -> None:
    reply = client.call("GET", path, headers={"X-Request-ID": "trace:00-af_1.2/3"})

    assert reply.headers["x-request-id"] == "trace:00-af_1.2/3"


def test_the_api_answers_under_any_host_name(client: Client, queue: str) -> None:
    reply = client.call("GET", f"/api/{{ns}}/{queue}/size", headers={"Host": "taskq.internal:7777"})

    assert reply.status == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "reason", "shown"),
    [
        ("PUT", "/api/demo/a/b?token=s3cr3t", 404, "api not found", "/api/demo/a/b"),
        ("PATCH", "/api/demo/q?token=s3cr3t", 405, "method not allowed", "/api/demo/q"),
        ("PATCH", "/token/demo/s3cr3t", 405, "method not allowed", "/token***"),
        ("PUT", "/token/demo/s3cr3t/nothing", 404, "api not found", "/token***"),
        ("GET", "/api/demo/q/size?s3cr3t" + "&a" * 65, 400, "too many parameters", "/api/demo/q/size"),
    ],
)
def test_requests_that_reach_no_route_are_logged(
    server: Server, client: Client, queue: str, method: str, path: str, status: int, reason: str, shown: str
) -> None:
    request_id = f"unrouted-{queue}"

    assert client.call(method, path, b"b0dy", {"X-Request-ID": request_id}).status == status

    (line,) = [line for line in server.log_lines() if line.get("request_id") == request_id]
    assert (line["action"], line["status"], line["reason"]) == ("http.refuse", status, reason)
    assert (line["method"], line["path"]) == (method, shown)
    text = server.log.read_text()
    assert client.token not in text
    assert "s3cr3t" not in text
    assert "b0dy" not in text


def test_refusals_are_logged_without_token_query_or_body(server: Server, client: Client, queue: str) -> None:
    request_id = f"refused-{queue}"
    client.call("PUT", f"/api/{{ns}}/{queue}?ttl=x&secret=s3cr3t", b"b0dy", {"X-Request-ID": request_id})

    (line,) = [line for line in server.log_lines() if line.get("request_id") == request_id]
    assert line["action"] == "http.refuse"
    assert (line["route"], line["status"], line["reason"]) == ("publish.publish", 400, "invalid ttl")
    text = server.log.read_text()
    assert client.token not in text
    assert "s3cr3t" not in text
    assert "b0dy" not in text


@pytest.mark.parametrize("what", ["", "/detail", "/result"])
def test_an_unknown_job_id_is_logged(server: Server, client: Client, queue: str, what: str) -> None:
    request_id = f"unknown{what.replace('/', '-')}-{queue}"
    unknown = "01JD5T9ZQ3W8K4N7B2M6XCVHRE"
    response = client.call("GET", f"/api/{{ns}}/{queue}/job/{unknown}{what}", headers={"X-Request-ID": request_id})

    assert (response.status, response.json) == (404, {"error": "job not found"})
    (line,) = [line for line in server.log_lines() if line.get("request_id") == request_id]
    assert (line["action"], line["error"]) == ("http.refuse", "job_not_found")
