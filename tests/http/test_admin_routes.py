"""Admin routes: tokens, limits, pools, information; for staff only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.cookiejar import CookieJar

import httpx
import pytest

from queues import __version__
from queues.api.router import AuthKind, Route
from queues.api.routes import ROUTES
from tests.http.client import Client
from tests.http.service import Server, Site
from tests.support.rows import in_one_test
from tests.support.waiting import wait_until

STAFF_ROUTES = [route for route in ROUTES if route.auth is AuthKind.STAFF]
SECRET = re.compile(r"[A-Za-z0-9_-]{43}\Z")


@pytest.fixture
def namespace(queue: str) -> str:
    return f"ns-{queue}"


@pytest.fixture
def token(staff: Client, namespace: str) -> str:
    return str(staff.call("POST", f"/token/{namespace}?description=checkout").json["token"])


def test_a_token_is_made_shown_once_and_opens_its_namespace(staff: Client, namespace: str) -> None:
    made = staff.call("POST", f"/token/{namespace}?description=checkout")
    assert made.status == 201
    assert made.json.keys() == {"token"}
    assert SECRET.match(made.json["token"])

    listed = staff.call("GET", f"/token/{namespace}")
    assert listed.status == 200
    ((public_id, description),) = listed.json["tokens"].items()
    assert description == "checkout"
    assert made.json["token"].encode() not in listed.body
    assert re.fullmatch("[0-9a-f]{12}", public_id)

    Client(url=staff.url, namespace=namespace, token=made.json["token"]).publish("q")


def test_a_token_may_be_made_by_a_form(staff: Client, namespace: str) -> None:
    own = "a-secret-of-my-own-choice"
    form = {"Content-Type": "application/x-www-form-urlencoded"}

    reply = staff.call("POST", f"/token/{namespace}", f"description=my+shop&token={own}", form)

    assert (reply.status, reply.json) == (201, {"token": own})
    assert list(staff.call("GET", f"/token/{namespace}").json["tokens"].values()) == ["my shop"]


@in_one_test(
    ("query", "words"),
    [
        ("", "invalid description"),
        ("description=", "invalid description"),
        ("description=x&pool=nowhere", "pool not found"),
        ("description=x&token=nowhere:a-secret-of-my-own-choice", "pool not found"),
        ("description=x&token=short", "token too short: at least 20 characters"),
        ("description=" + "x" * 256, "description too long: at most 255 characters"),
    ],
)
def test_a_bad_token_request_is_refused(staff: Client, namespace: str, query: str, words: str) -> None:
    reply = staff.call("POST", f"/token/{namespace}?{query}")

    assert (reply.status, reply.json) == (400, {"error": words})
    assert staff.call("GET", f"/token/{namespace}").json == {"tokens": {}}


def test_a_given_token_that_exists_is_refused(staff: Client, namespace: str, token: str) -> None:
    reply = staff.call("POST", f"/token/{namespace}?description=x&token={token}")

    assert (reply.status, reply.json) == (400, {"error": "token exists already"})


@pytest.mark.parametrize("path", ["/token/a%2Fb", "/token/a%20b", "/token/%C3%A9"])
def test_a_bad_namespace_is_refused(staff: Client, path: str) -> None:
    reply = staff.call("POST", f"{path}?description=x")

    assert (reply.status, reply.json) == (400, {"error": "namespace name contains forbidden characters"})


@pytest.mark.parametrize("by", ["secret", "public id", "pool and secret"])
def test_a_token_is_revoked(staff: Client, namespace: str, token: str, by: str) -> None:
    (public_id,) = staff.call("GET", f"/token/{namespace}").json["tokens"]
    named = {"secret": token, "public id": public_id, "pool and secret": f"default:{token}"}[by]
    client = Client(url=staff.url, namespace=namespace, token=token)
    client.publish("q")

    assert staff.call("DELETE", f"/token/{namespace}/{named}").status == 204

    assert staff.call("GET", f"/token/{namespace}").json == {"tokens": {}}
    wait_until(lambda: client.call("PUT", "/api/{ns}/q").status == 401, or_fail="not refused", timeout_s=2)


def test_revoking_an_unknown_token_is_no_error(staff: Client, namespace: str) -> None:
    assert staff.call("DELETE", f"/token/{namespace}/unknown").status == 204


def test_the_life_of_a_limit(staff: Client, namespace: str, token: str) -> None:
    path = f"/token/{namespace}/{token}/limit"
    first, second = {"read": 5, "write": 0, "interval": 10}, {"read": 0, "write": 7, "interval": 1}

    assert staff.call("GET", path).status == 404
    made = staff.call("POST", path, '{"read": 5, "write": 0, "interval": 10}')
    assert (made.status, made.json) == (201, {**first, "limiter": first})
    again = staff.call("POST", path, '{"read": 9, "write": 9, "interval": 9}')
    assert (again.status, again.json) == (400, {"error": "limit exists already"})
    assert staff.call("GET", path).json == first
    replaced = staff.call("PUT", path, '{"write": 7, "interval": 1}')
    assert (replaced.status, replaced.json) == (200, {**second, "limiter": second})
    assert second in [one["limiter"] for one in staff.call("GET", "/limits").json if one["namespace"] == namespace]
    assert token.encode() not in staff.call("GET", "/limits").body
    removed = staff.call("DELETE", path)
    assert (removed.status, removed.json) == (200, {"msg": "success"})
    assert staff.call("GET", path).json == {"error": "limit not found"}
    assert staff.call("DELETE", path).status == 200


@in_one_test(
    "body",
    [
        "",
        "[]",
        "{",
        '{"read": 0, "write": 0, "interval": 1}',
        '{"read": 1, "write": 1, "interval": 0}',
        '{"read": -1, "interval": 1}',
        '{"read": "1", "interval": 1}',
        '{"read": 99999999999, "interval": 1}',
    ],
)
@in_one_test("method", ["POST", "PUT"])
def test_a_bad_limit_is_refused(staff: Client, namespace: str, token: str, method: str, body: str) -> None:
    path = f"/token/{namespace}/{token}/limit"

    assert staff.call(method, path, body).status == 400
    assert staff.call("GET", path).status == 404


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_the_limit_of_an_unknown_token_is_not_found(staff: Client, namespace: str, method: str) -> None:
    reply = staff.call(method, f"/token/{namespace}/unknown/limit", '{"read": 1, "interval": 1}')

    assert (reply.status, reply.json) == (404, {"error": "token not found"})


def test_pools_information_version_and_metrics(staff: Client, namespace: str, token: str) -> None:
    Client(url=staff.url, namespace=namespace, token=token).publish("orders")

    assert "default" in staff.call("GET", "/pools").json
    assert staff.call("GET", "/info").json["namespaces"][namespace] == ["orders"]
    assert staff.call("GET", "/info?pool=nowhere").json == {"error": "pool not found"}
    assert staff.call("GET", "/version").json == {"version": __version__}
    metrics = staff.call("GET", "/metrics")
    assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert (
        f'taskq_jobs{{pool="default",namespace="{namespace}",queue="orders",state="ready"}} 1\n'
        in metrics.body.decode()
    )
    assert 'taskq_redis_up{pool="default"} 1\n' in metrics.body.decode()


@pytest.fixture
def quiet_afterwards(staff: Client) -> Iterator[None]:
    yield
    staff.call("POST", "/accesslog?status=disable")


@pytest.mark.usefixtures("quiet_afterwards")
def test_the_access_log_is_switched_and_holds_no_token(
    server: Server, staff: Client, client: Client, queue: str
) -> None:
    assert staff.call("GET", "/accesslog").json == {"status": "disabled"}
    assert staff.call("POST", "/accesslog?status=x").json == {"error": "invalid status"}
    assert staff.call("POST", "/accesslog?status=enable").json == {"status": "enabled"}
    assert staff.call("GET", "/accesslog").json == {"status": "enabled"}

    def line() -> list[dict[str, object]]:
        """Of a request to a worker, which learns of the switch within two seconds."""
        client.call("GET", f"/api/demo/{queue}/size?token={client.token}", headers={"X-Request-ID": f"logged-{queue}"})
        return [one for one in server.log_lines() if one.get("request_id") == f"logged-{queue}"]

    written = wait_until(line, or_fail="no line in the access log")[0]
    assert (written["action"], written["method"], written["status"]) == ("http.request", "GET", 200)
    assert written["path"] == f"/api/demo/{queue}/size"
    assert client.token not in server.log.read_text()


@in_one_test("route", STAFF_ROUTES, title=lambda route: route.name)
def test_admin_routes_are_for_those_who_prove_it(server: Server, route: Route) -> None:
    path = route.path.replace("{namespace}", "x").replace("{token}", "x")

    reply = Client(url=server.url).call(route.method, path)

    assert (reply.status, reply.json) == (401, {"error": "authentication required"})
    assert reply.headers["www-authenticate"].startswith("Basic ")


@pytest.mark.parametrize("basic", ["nobody:x", "admin", "admin:", ":"])
def test_nobody_else_proves_it(server: Server, basic: str) -> None:
    reply = Client(url=server.url, basic=basic).call("GET", "/version")

    assert (reply.status, reply.json) == (401, {"error": "authentication required"})


@pytest.fixture(scope="session")
def mere_user(site: Site) -> str:
    script = "from django.contrib.auth.models import User; User.objects.create_user('carol', password='correct horse')"
    site.manage("shell", "-c", script)
    return "carol:correct horse"


@in_one_test("route", STAFF_ROUTES, title=lambda route: route.name)
def test_admin_routes_are_for_staff_only(server: Server, mere_user: str, route: Route) -> None:
    path = route.path.replace("{namespace}", "x").replace("{token}", "x")

    reply = Client(url=server.url, basic=mere_user).call(route.method, path)

    assert (reply.status, reply.json) == (403, {"error": "staff only"})


@pytest.fixture
def session(server: Server) -> Iterator[httpx.Client]:
    """A browser in which the admin has signed in."""
    account = server.site.account
    with httpx.Client(base_url=server.url, cookies=CookieJar(), follow_redirects=True) as browser:
        browser.get("/admin/login/")
        page = browser.get("/admin/login/").text
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert found
        form = {"username": account["username"], "password": account["password"], "csrfmiddlewaretoken": found[1]}
        browser.post("/admin/login/", data=form, headers={"Referer": server.url})
        yield browser


def test_a_session_of_the_admin_opens_admin_routes(session: httpx.Client) -> None:
    assert session.get("/version").status_code == 200


def test_a_session_needs_its_csrf_token_to_change_something(session: httpx.Client, namespace: str) -> None:
    path = f"/token/{namespace}?description=x"

    without = session.post(path)
    with_token = session.post(path, headers={"X-CSRFToken": session.cookies["taskq_csrf"]})

    assert (without.status_code, "CSRF" in without.json()["error"]) == (403, True)
    assert with_token.status_code == 201
