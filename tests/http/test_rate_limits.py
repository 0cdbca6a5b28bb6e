"""A token's limit: so many consumes and publishes in an interval, of which those that brought nothing do not count."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
import redis

from tests.http.client import Client
from tests.http.service import Server, Site
from tests.http.test_long_polls import waiting_in
from tests.support.waiting import wait_until

Limited = Callable[..., Client]
HOUR = 3600


@pytest.fixture
def limited(server: Server, site: Site, queue: str) -> Limited:
    """Makes a namespace whose token has a limit, and waits until the server knows."""

    def make(*, read: int = 0, write: int = 0, interval: int = HOUR) -> Client:
        namespace = f"limited-{queue}"
        made = server.staff.call("POST", f"/token/{namespace}?description=limited")
        token = made.json["token"]
        body = f'{{"read": {read}, "write": {write}, "interval": {interval}}}'
        assert server.staff.call("POST", f"/token/{namespace}/{token}/limit", body).status == 201
        return Client(url=server.url, namespace=namespace, token=token)

    return make


@pytest.mark.parametrize(
    "request_line", ["PUT /api/{ns}/q", "PUT /api/{ns}/q/bulk", "PUT /api/{ns}/q/job/01ARZ3NDEKTSV4RRFFQ69G5FAV"]
)
def test_publishes_beyond_the_limit_are_refused(limited: Limited, request_line: str) -> None:
    client = limited(write=2)
    method, path = request_line.split(" ")

    replies = [client.call(method, path, "[1]") for _ in range(3)]

    assert [reply.status for reply in replies] == [201, 201, 429]
    assert set(replies[2].json) == {"msg"}
    assert 0 < int(replies[2].headers["retry-after"]) <= HOUR
    assert client.token.encode() not in replies[2].body
    assert client.call("GET", "/api/{ns}/q/size").json["size"] == 2


def test_a_workflow_counts_as_one_publish_unless_it_is_refused(limited: Limited) -> None:
    client = limited(write=2)
    nodes = '{"name": "a", "queue": "q"}, {"name": "b", "queue": "q", "depends_on": ["%s"]}'

    def make(workflow_id: str, before: str = "a") -> int:
        body = f'{{"id": "{workflow_id}", "nodes": [{nodes % before}]}}'
        return client.call("POST", "/api/{ns}/workflows", body).status

    assert [make("w1", "x"), make("w1"), make("w2", "b"), make("w2"), make("w3")] == [400, 201, 400, 201, 429]
    assert client.call("POST", "/api/{ns}/workflows/w1/nodes", '{"nodes": [{"name": "c", "queue": "q"}]}').status == 429
    assert client.call("GET", "/api/{ns}/q/size").json["size"] == 2
    assert client.call("GET", "/api/{ns}/workflows/w3").status == 404


def test_consumes_beyond_the_limit_are_refused(limited: Limited) -> None:
    client = limited(read=1)
    client.publish("q")
    client.publish("q")

    replies = [client.call("GET", "/api/{ns}/q") for _ in range(2)]

    assert [reply.status for reply in replies] == [200, 429]
    assert client.call("GET", "/api/{ns}/q/size").json["size"] == 1


def test_the_limits_of_reading_and_writing_are_apart(limited: Limited) -> None:
    client = limited(read=1, write=1)

    assert client.call("PUT", "/api/{ns}/q").status == 201
    assert client.call("GET", "/api/{ns}/q").status == 200


def test_other_routes_do_not_count(limited: Limited) -> None:
    client = limited(read=1, write=1)
    for _ in range(3):
        assert client.call("GET", "/api/{ns}/q/size").status == 200
        assert client.call("GET", "/api/{ns}/q/peek").status == 404

    assert client.call("PUT", "/api/{ns}/q").status == 201


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("GET /api/{ns}/q", 404),
        ("GET /api/{ns}/q?ttr=x", 400),
        ("PUT /api/{ns}/q?ttl=x", 400),
        ("PUT /api/{ns}/q/bulk", 400),
    ],
)
def test_a_request_that_brings_nothing_does_not_count(limited: Limited, request_line: str, status: int) -> None:
    client = limited(read=2, write=2)
    method, path = request_line.split(" ")

    assert [client.call(method, path).status for _ in range(5)] == [status] * 5

    client.publish("q")
    client.take("q")


def test_a_new_interval_brings_new_requests(limited: Limited) -> None:
    client = limited(write=1, interval=1)
    client.publish("q")

    wait_until(
        lambda: client.call("PUT", "/api/{ns}/q").status == 201, or_fail="the interval does not end", timeout_s=3
    )


def script_calls(site: Site) -> int:
    with redis.Redis.from_url(site.redis_url) as observer:
        return int(observer.info("commandstats").get("cmdstat_evalsha", {"calls": 0})["calls"])


def test_a_token_with_a_limit_costs_no_more_calls_than_one_without(
    site: Site, client: Client, limited: Limited, queue: str
) -> None:
    def takes_three_calls(one: Client) -> bool:
        before = script_calls(site)
        one.publish(queue)
        one.take(queue)
        assert one.call("GET", f"/api/{{ns}}/{queue}").status == 404
        return script_calls(site) - before == 3

    for one in (client, limited(read=99, write=99)):
        one.publish(queue)
        one.take(queue)

        # The server tells now and then who waits: in most rounds nothing of that comes between.
        wait_until(partial(takes_three_calls, one), or_fail="a request takes more than one call")


def test_what_is_wrong_with_a_request_is_said_even_beyond_the_limit(limited: Limited) -> None:
    client = limited(read=1, write=1)
    client.publish("q")
    client.take("q")

    assert client.call("PUT", "/api/{ns}/q?ttl=x").status == 400
    assert client.call("PUT", "/api/{ns}/q/bulk", "no array").status == 400
    assert client.call("GET", "/api/{ns}/q?timeout=x").status == 400
    assert client.call("PUT", "/api/{ns}/q").status == 429
    assert client.call("GET", "/api/{ns}/q").status == 429


def test_a_waiting_consumer_is_refused_once_others_have_used_up_the_rate(server: Server, limited: Limited) -> None:
    client = limited(read=1)
    with ThreadPoolExecutor() as threads:
        waiting = [threads.submit(client.call, "GET", "/api/{ns}/q?timeout=20") for _ in range(2)]
        wait_until(lambda: waiting_in(server) == 2, or_fail="they do not wait")
        client.publish("q")
        client.publish("q")
        statuses = sorted(one.result().status for one in waiting)

    assert statuses == [200, 429]
    assert client.call("GET", "/api/{ns}/q/size").json["size"] == 1
