"""Schedules over HTTP beside the table of the contract: a queue of that name, isolation, and what a fire publishes."""

from __future__ import annotations

import base64

import pytest

from queues.api.routes import ROUTER, ROUTES
from queues.services.schedules.checking import QUEUE_WORDS
from tests.http.client import Client


@pytest.fixture
def name(queue: str) -> str:
    return f"x-{queue}"


def test_a_queue_may_be_called_schedules(client: Client) -> None:
    path = "/api/{ns}/schedules"
    client.call("DELETE", f"{path}?all=1")
    job = client.publish("schedules", b"job", tries=2)

    assert client.call("GET", f"{path}/peek").json["job_id"] == job
    assert client.call("GET", f"{path}/size").json["size"] == 1
    assert client.call("PUT", f"{path}/bulk", b"[1]").status == 201
    assert client.call("GET", f"{path}/job/{job}").status == 200
    assert client.call("POST", f"{path}/pause").json == {"msg": "paused", "changed": True}
    assert client.call("GET", f"{path}?ttr=60&timeout=0").json == {"msg": "no job available"}
    assert client.call("POST", f"{path}/resume").json["changed"] is True
    assert client.call("GET", f"{path}?ttr=60&timeout=0").json["job_id"] == job
    assert client.call("POST", f"{path}/job/{job}/fail").json["state"] == "ready"
    taken = client.call("GET", f"{path}?count=2").json
    assert job in [one["job_id"] for one in taken]
    assert client.call("DELETE", f"{path}/job/{job}").status == 204
    assert client.call("GET", f"{path}/deadletter").json["deadletter_size"] == 0
    assert client.call("GET", f"{path}/stats").status == 200
    assert client.call("PUT", f"{path}/deadletter?limit=1").status == 200
    assert set(client.call("GET", path).json) == {"namespace", "schedules", "after"}


def test_no_schedule_can_take_a_path_of_the_queue_of_that_name() -> None:
    words = {route.path.split("/")[4] for route in ROUTES if route.path.startswith("/api/{namespace}/{queue}/")}

    assert words <= QUEUE_WORDS
    for route in ROUTES:
        if route.path.startswith("/api/{namespace}/{queue}/"):
            path = route.path.format(namespace="ns", queue="schedules", job_id="01ARZ3NDEKTSV4RRFFQ69G5FAV")
            assert ROUTER.match(route.method, path.encode())[0] is route


def test_consuming_from_it_counts_as_consuming(client: Client) -> None:
    route, _ = ROUTER.match("GET", b"/api/ns/schedules")

    assert route.alternative is not None
    assert route.alternative.route.rate == "read"


def test_another_namespaces_token_opens_none(client: Client, name: str) -> None:
    body = b'{"queue": "q", "every": 60}'
    assert client.call("PUT", f"/api/{{ns}}/schedules/{name}", body).status == 201

    for method, path in (("GET", ""), ("GET", f"/{name}"), ("PUT", f"/{name}"), ("POST", f"/{name}/run")):
        reply = client.call(method, f"/api/elsewhere/schedules{path}", body if method == "PUT" else None)
        assert (reply.status, reply.json) == (401, {"error": "invalid token"})


def test_run_publishes_the_body_with_its_options(client: Client, queue: str, name: str) -> None:
    raw = bytes(range(256))
    data = base64.b64encode(raw).decode()
    options = '"tries": 7, "ttl": 99, "limit_key": "acme"'
    content = f'{{"queue": "{queue}", "every": 3600, "data": "{data}", {options}}}'
    assert client.call("PUT", f"/api/{{ns}}/schedules/{name}", content).status == 201

    fire = client.call("POST", f"/api/{{ns}}/schedules/{name}/run").json

    job = client.take(queue)
    assert (job["job_id"], base64.b64decode(job["data"])) == (fire["job_id"], raw)
    assert (job["tries"], job["ttl"]) == (7, 99)
    assert client.call("GET", f"/api/{{ns}}/{queue}/job/{fire['job_id']}/detail").json["limit_key"] == "acme"
    kept = client.call("GET", f"/api/{{ns}}/schedules/{name}").json
    assert (kept["history"], kept["limit_key"]) == ([fire], "acme")


def test_pages_go_on_where_the_one_before_ended(client: Client, name: str) -> None:
    for number in range(3):
        client.call("PUT", f"/api/{{ns}}/schedules/{name}-{number}", b'{"queue": "q", "every": 60, "app": "pages"}')

    first = client.call("GET", "/api/{ns}/schedules?app=pages&limit=2").json
    second = client.call("GET", f"/api/{{ns}}/schedules?app=pages&limit=2&after={first['after']}").json

    names = [one["name"] for page in (first, second) for one in page["schedules"]]
    assert names == [f"{name}-{number}" for number in range(3)]
    assert second["after"] is None


def test_a_replaced_schedule_stays_paused_unless_it_is_told(client: Client, name: str) -> None:
    path, body = f"/api/{{ns}}/schedules/{name}", '{"queue": "q", "every": 60%s}'
    client.call("PUT", path, body % ', "paused": true')

    assert client.call("PUT", path, body % "").json["schedule"]["state"] == "paused"
    assert client.call("PUT", path, body % ', "paused": false').json["schedule"]["state"] == "active"
