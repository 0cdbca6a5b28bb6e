"""Workflows over HTTP beside the table of the contract: a queue of that name, isolation, and pages of nodes."""

from __future__ import annotations

import json

from queues.api.routes import ROUTER, ROUTES
from tests.http.client import Client
from tests.support.waiting import wait_until

WORKFLOWS = "/api/{ns}/workflows"


def test_a_queue_may_be_called_workflows(client: Client) -> None:
    client.call("DELETE", f"{WORKFLOWS}?all=1")
    job = client.publish("workflows", b"job", tries=2)

    assert client.call("GET", f"{WORKFLOWS}/peek").json["job_id"] == job
    assert client.call("GET", f"{WORKFLOWS}/size").json["size"] == 1
    assert client.call("GET", f"{WORKFLOWS}?ttr=60&timeout=0").json["job_id"] == job
    assert client.call("POST", f"{WORKFLOWS}/job/{job}/fail").json["state"] == "ready"
    assert client.call("DELETE", f"{WORKFLOWS}/job/{job}").status == 204
    assert set(client.call("GET", WORKFLOWS).json) == {"namespace", "workflows", "after"}
    for route in ROUTES:
        if route.path.startswith("/api/{namespace}/{queue}/"):
            path = route.path.format(namespace="ns", queue="workflows", job_id="01ARZ3NDEKTSV4RRFFQ69G5FAV")
            assert ROUTER.match(route.method, path.encode())[0] is route


def test_a_workflow_belongs_to_its_namespace(client: Client, queue: str) -> None:
    body = json.dumps({"id": f"x-{queue}", "nodes": [{"name": "a", "queue": queue}]})
    assert client.call("POST", WORKFLOWS, body).status == 201

    for method, path in (
        ("GET", ""),
        ("POST", ""),
        ("GET", f"/x-{queue}"),
        ("POST", f"/x-{queue}/nodes"),
        ("GET", f"/x-{queue}/results"),
        ("POST", f"/x-{queue}/cancel"),
        ("POST", f"/x-{queue}/retry"),
    ):
        reply = client.call(method, f"/api/elsewhere/workflows{path}", body if method == "POST" else None)
        assert reply.status == 401, path


def test_a_thousand_nodes_are_made_at_once_and_read_in_pages(client: Client, queue: str) -> None:
    nodes: list[dict[str, object]] = [{"name": f"n{number}", "queue": queue} for number in range(999)]
    nodes.append({"name": "last", "queue": queue, "depends_on": [f"n{number}" for number in range(999)]})
    body = json.dumps({"id": f"big-{queue}", "nodes": nodes})
    path = f"{WORKFLOWS}/big-{queue}"

    assert client.call("POST", WORKFLOWS, body).json["nodes"] == 1_000
    page = client.call("GET", f"{path}?after=990&limit=7").json
    end = client.call("GET", f"{path}?after={page['after']}").json

    assert [one["name"] for one in page["nodes"]] == [f"n{number}" for number in range(990, 997)]
    assert (page["after"], end["after"]) == (997, None)
    states = {one["name"]: one["state"] for one in end["nodes"]}
    assert states == {"n997": "ready", "n998": "ready", "last": "blocked"}
    assert len(end["nodes"][-1]["depends_on"]) == 999
    assert client.call("POST", f"{path}/cancel").status == 200
    wait_until(lambda: client.call("GET", f"/api/{{ns}}/{queue}/size").json["size"] == 0, or_fail="jobs are left")
