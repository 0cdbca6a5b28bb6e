"""A token opens its own namespace in its own pool, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from queues.api.router import AuthKind, Route
from queues.api.routes import ROUTES
from queues.embedded import EmbeddedRedis
from tests.http.client import Client, new_queue
from tests.http.service import Server, Site
from tests.support.rows import in_one_test
from tests.support.waiting import wait_until

SECONDS_TO_FORGET = 2.0

TOKEN_ROUTES = [route for route in ROUTES if route.auth is AuthKind.TOKEN]
STAFF_ROUTES = [route for route in ROUTES if route.auth is AuthKind.STAFF]


def path_of(route: Route, namespace: str, queue: str, job_id: str) -> str:
    return (
        route.path.replace("{namespace}", namespace)
        .replace("{queue}", queue)
        .replace("{job_id}", job_id)
        .replace("{schedule}", "s")
        .replace("{workflow}", "w")
    )


@pytest.fixture(scope="module")
def other_pool(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with EmbeddedRedis(tmp_path_factory.mktemp("other") / "redis", persistent=False) as redis:
        site.manage("pool", "add", "other", redis.url)
        yield "other"


@pytest.fixture(scope="module")
def alice(site: Site, server: Server, other_pool: str) -> Client:
    """Owns the namespace `alice` in the pool `default`."""
    return Client(url=server.url, namespace="alice", token=server.new_token("alice"))


@pytest.fixture(scope="module")
def bob(site: Site, server: Server, other_pool: str) -> Client:
    """Owns the namespace `bob` in the same pool."""
    return Client(url=server.url, namespace="bob", token=server.new_token("bob"))


@pytest.fixture(scope="module")
def alice_elsewhere(site: Site, server: Server, other_pool: str) -> Client:
    """Owns a namespace of the name `alice`, in another pool."""
    return Client(url=server.url, namespace="alice", token=server.new_token("alice", pool=other_pool))


@in_one_test("route", TOKEN_ROUTES, title=lambda route: route.name)
def test_a_token_opens_nothing_of_another_namespace(route: Route, alice: Client, bob: Client) -> None:
    queue = new_queue()
    job_id = alice.publish(queue, b"alice's")
    before = alice.call("GET", f"/api/alice/{queue}/stats").json

    reply = bob.call(route.method, path_of(route, "alice", queue, job_id), '{"ids": ["x"]}')

    assert (reply.status, reply.json) == (401, {"error": "invalid token"})
    after = alice.call("GET", f"/api/alice/{queue}/stats").json
    assert {**before, "oldest_ready_ms": 0} == {**after, "oldest_ready_ms": 0}


@in_one_test("route", TOKEN_ROUTES, title=lambda route: route.name)
def test_a_token_opens_nothing_of_that_name_in_another_pool(
    route: Route, alice: Client, alice_elsewhere: Client
) -> None:
    queue = new_queue()
    job_id = alice.publish(queue, b"alice's")
    secret = alice_elsewhere.token.removeprefix("other:")
    path = path_of(route, "alice", queue, job_id)

    in_default = Client(url=alice.url, token=secret).call(route.method, path, '{"ids": ["x"]}')
    in_its_own = alice_elsewhere.call("GET", f"/api/alice/{queue}/size")

    assert (in_default.status, in_default.json) == (401, {"error": "invalid token"})
    assert in_its_own.json["size"] == 0
    assert alice.call("GET", f"/api/alice/{queue}/size").json["size"] == 1


@in_one_test("route", STAFF_ROUTES, title=lambda route: route.name)
def test_a_token_opens_no_admin_route(route: Route, alice: Client) -> None:
    path = route.path.replace("{namespace}", "alice").replace("{token}", "x")

    reply = alice.call(route.method, path)

    assert (reply.status, reply.json) == (401, {"error": "authentication required"})
    assert reply.headers["www-authenticate"].startswith("Basic ")


def test_queues_of_another_namespace_are_not_listed(alice: Client, bob: Client, queue: str) -> None:
    alice.publish(queue)
    bob.publish(f"{queue}b")

    names = {one["queue"] for one in bob.call("GET", "/api/bob/queues").json["queues"]}

    assert f"{queue}b" in names
    assert queue not in names


def test_a_revoked_token_is_refused_by_another_process_within_two_seconds(
    site: Site, server: Server, queue: str
) -> None:
    client = Client(url=server.url, namespace="carol", token=server.new_token("carol"))
    with site.serve() as other:
        elsewhere = Client(url=other.url, namespace="carol", token=client.token)
        assert [one.call("GET", f"/api/{{ns}}/{queue}/size").status for one in (client, elsewhere)] == [200, 200]

        assert server.staff.call("DELETE", f"/token/carol/{client.token}").status == 204

        for one in (client, elsewhere):
            wait_until(
                lambda one=one: one.call("GET", f"/api/{{ns}}/{queue}/size").status == 401,  # type: ignore[misc]
                or_fail="still accepted",
                timeout_s=SECONDS_TO_FORGET,
            )


def test_the_url_of_a_pool_is_nowhere_in_the_answers(server: Server, other_pool: str) -> None:
    for path in ("/pools", "/info", "/metrics", "/info?pool=other"):
        assert b"unix:" not in server.staff.call("GET", path).body
