"""The routes of workflows in the table of the contract (`cases`)."""

from __future__ import annotations

import json
import re

from tests.http.case import Case, error, whole
from tests.http.client import Client
from tests.support.waiting import wait_until

WORKFLOWS = "/api/{ns}/workflows"
WORKFLOW = f"{WORKFLOWS}/w-{{queue}}"
_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}\Z")
_QUEUE = re.compile(r"q\d+\Z")
_MADE = {"msg": "created", "workflow_id": re.compile(r"w-q\d+\Z"), "nodes": 2}
_NONE = error("workflow not found")

SUMMARY = {
    "id": re.compile(r"w-q\d+\Z"),
    "name": "Invoice",
    "state": "running",
    "created_ms": whole(1, 10**14),
    "ended_ms": None,
    "retention": 3_600,
    "nodes_total": 2,
    "nodes_done": 0,
    "nodes_failed": 0,
}
_NODE = {
    "name": "print",
    "queue": _QUEUE,
    "job_id": _ID,
    "state": "ready",
    "depends_on": [],
    "on_dependency_failure": "wait",
    "started_ms": None,
    "ended_ms": None,
    "attempts": 0,
    "error": None,
}
INVOICE = json.dumps(
    {
        "id": "w-{queue}",
        "name": "Invoice",
        "retention": 3_600,
        "nodes": [
            {"name": "print", "queue": "{queue}", "body": {"order": 7}},
            {"name": "send", "queue": "{queue}", "data": "am9i", "depends_on": ["print"], "ttl": 0},
        ],
    }
)


def made(client: Client, queue: str) -> dict[str, str]:
    reply = client.call("POST", WORKFLOWS, INVOICE.replace("{queue}", queue))
    assert reply.status == 201, reply
    return {}


def done(client: Client, queue: str) -> dict[str, str]:
    made(client, queue)
    for _ in range(2):
        job = client.take(queue, timeout=5)
        path = f"/api/{{ns}}/{queue}/job/{job['job_id']}"
        assert client.call("DELETE", path, b"paper").status == 204
    _until(client, queue, "done")
    return {}


def failed(client: Client, queue: str) -> dict[str, str]:
    made(client, queue)
    job = client.take(queue)
    assert client.call("POST", f"/api/{{ns}}/{queue}/job/{job['job_id']}/fail").json["state"] == "dead"
    _until(client, queue, "failed")
    return {}


def _until(client: Client, queue: str, state: str) -> None:
    """Who acked tells the workflow just after it has been answered."""
    path = f"{WORKFLOWS}/w-{queue}"
    wait_until(lambda: client.call("GET", path).json["state"] == state, or_fail=f"the workflow is not {state}")


def added(client: Client, queue: str) -> dict[str, str]:
    made(client, queue)
    assert client.call("POST", f"{WORKFLOWS}/w-{queue}/nodes", _nodes(_LATE).replace("{queue}", queue)).status == 201
    return {}


def cancelled(client: Client, queue: str) -> dict[str, str]:
    made(client, queue)
    assert client.call("POST", f"{WORKFLOWS}/w-{queue}/cancel").status == 200
    return {}


def bad_workflow(content: str, words: str, route: str = "create", request: str = f"POST {WORKFLOWS}") -> Case:
    return Case(
        route=f"workflows.{route}", title=content[:60], request=request, body=content, status=400, want=error(words)
    )


def _nodes(*nodes: str) -> str:
    return f'{{"nodes": [{", ".join(nodes)}]}}'


_LATE = '{"name": "late", "queue": "{queue}", "depends_on": ["print"]}'
_EXPECTED = "expected an array of objects"
_WHOLE = "expected a whole number from"


def _unknown(kind: str) -> str:
    members = {
        "create": "id, name, nodes, retention",
        "node": "at, attributes, backoff, body, data, delay, depends_on, limit_key, name, on_dependency_failure, "
        "priority, queue, tries, ttl",
    }
    return members[kind]


_BAD_NUMBERS = ("x", "-1", "1.5", "")
_BAD: tuple[tuple[str, str], ...] = (
    ("[1]", "request body should be an object"),
    ("{", "request body should be an object"),
    ("{}", f"invalid nodes: {_EXPECTED}"),
    ('{"nodes": []}', "no nodes"),
    ('{"nodes": [1]}', f"invalid nodes: {_EXPECTED}"),
    ('{"nodes": [{}]}', "node 1 of the request has no name"),
    ('{"nodes": [], "color": 1}', f"unknown 'color'; there are {_unknown('create')}"),
    (_nodes('{"name": "a", "queue": "q", "key": "k"}'), f"node \"a\": unknown 'key'; there are {_unknown('node')}"),
    (_nodes('{"name": "a"}'), 'node "a": invalid queue: expected a text'),
    (_nodes('{"name": "a", "queue": "a/b"}'), 'node "a": queue name contains forbidden characters'),
    (
        _nodes('{"name": "a", "queue": "q", "depends_on": "b"}'),
        'node "a": invalid depends_on: expected an array of names of nodes',
    ),
    (_nodes('{"name": "a", "queue": "q", "depends_on": ["b"]}'), 'node "a" depends on "b", which is unknown'),
    (
        _nodes(
            '{"name": "a", "queue": "q", "depends_on": ["c"]}',
            '{"name": "b", "queue": "q", "depends_on": ["a"]}',
            '{"name": "c", "queue": "q", "depends_on": ["b"]}',
        ),
        "the workflow has a cycle: a → c → b → a",
    ),
    (_nodes('{"name": "a", "queue": "q"}', '{"name": "a", "queue": "q"}'), 'node "a" is there twice'),
    (_nodes('{"name": "a", "queue": "q", "tries": 0}'), f'node "a": invalid tries: {_WHOLE} 1 to 65535'),
    (
        _nodes('{"name": "a", "queue": "q", "on_dependency_failure": "cry"}'),
        'node "a": invalid on_dependency_failure: expected wait, fail, continue',
    ),
    (_nodes('{"name": "a", "queue": "q", "data": "?"}'), 'node "a": invalid data: it is not base64'),
    (_nodes('{"name": "a", "queue": "q", "delay": 9, "ttl": 5}'), 'node "a": ttl is shorter than delay'),
    (_nodes('{"name": "a", "queue": "q", "backoff": "never"}'), 'node "a": invalid backoff'),
    ('{"id": 7, "nodes": [{"name": "a", "queue": "q"}]}', "invalid id: expected a text"),
    (
        '{"id": "a/b", "nodes": [{"name": "a", "queue": "q"}]}',
        "invalid workflow id: expected 1 to 64 letters, digits, hyphens and underscores",
    ),
    (
        '{"id": "peek", "nodes": [{"name": "a", "queue": "q"}]}',
        "invalid workflow id: it is a word of the queues' routes",
    ),
    ('{"retention": 1, "nodes": [{"name": "a", "queue": "q"}]}', f"invalid retention: {_WHOLE} 60 to 4294967295"),
    (
        '{"name": "a\\nb", "nodes": [{"name": "a", "queue": "q"}]}',
        "invalid name: expected up to 100 characters without control characters",
    ),
    (
        _nodes(*[f'{{"name": "n{n}", "queue": "q"}}' for n in range(1_001)]),
        "too many nodes, a request cannot exceed 1000",
    ),
)


def bad_parameter(route: str, request: str, name: str, *values: str) -> list[Case]:
    return [
        Case(
            route=route,
            title=f"{name}={value}",
            request=f"{request}?{name}={value}",
            status=400,
            want=error(f"invalid {name}"),
        )
        for value in values
    ]


def _of_all_states(route: str, verb: str) -> list[Case]:
    return [Case(route=route, title="none", request=f"POST {WORKFLOW}/{verb}", status=404, want=_NONE)]


WORKFLOW_ROUTES: list[Case] = [
    Case(
        route="workflows.create",
        title="two nodes",
        request=f"POST {WORKFLOWS}",
        body=INVOICE,
        status=201,
        want=_MADE,
    ),
    Case(
        route="workflows.create",
        title="without an id",
        request=f"POST {WORKFLOWS}",
        body=_nodes('{"name": "a", "queue": "{queue}"}'),
        status=201,
        want={"msg": "created", "workflow_id": _ID, "nodes": 1},
    ),
    Case(
        route="workflows.create",
        title="again",
        request=f"POST {WORKFLOWS}",
        body=INVOICE,
        status=200,
        want={**_MADE, "msg": "repeated"},
        prepare=made,
    ),
    Case(
        route="workflows.create",
        title="another with the id",
        request=f"POST {WORKFLOWS}",
        body=INVOICE.replace("Invoice", "Other"),
        status=409,
        want=error(re.compile(r"there is another workflow with the id w-q\d+\Z")),
        prepare=made,
    ),
    Case(
        route="workflows.create",
        title="too large",
        request=f"POST {WORKFLOWS}",
        body="x" * (4 * 1024 * 1024 + 1),
        status=413,
        want=error("body too large"),
    ),
    *[bad_workflow(content, words) for content, words in _BAD],
    Case(
        route="workflows.list_all",
        title="the newest",
        request=f"GET {WORKFLOWS}?limit=1",
        status=200,
        want={
            "namespace": "demo",
            "workflows": [SUMMARY],
            "after": lambda after: after is None or re.match(r"\d{13}/", after),
        },
        prepare=made,
    ),
    *bad_parameter("workflows.list_all", f"GET {WORKFLOWS}", "limit", *_BAD_NUMBERS, "0", "101"),
    *bad_parameter("workflows.list_all", f"GET {WORKFLOWS}", "after", "%00", "x" * 99),
    Case(
        route="workflows.show",
        title="one",
        request=f"GET {WORKFLOW}",
        status=200,
        want={
            "namespace": "demo",
            **SUMMARY,
            "now_ms": whole(1, 10**14),
            "nodes": [_NODE, {**_NODE, "name": "send", "state": "blocked", "depends_on": ["print"]}],
            "after": None,
        },
        prepare=made,
    ),
    Case(
        route="workflows.show",
        title="a page",
        request=f"GET {WORKFLOW}?limit=1",
        status=200,
        want={"namespace": "demo", **SUMMARY, "now_ms": whole(1, 10**14), "nodes": [_NODE], "after": 1},
        prepare=made,
    ),
    *bad_parameter("workflows.show", f"GET {WORKFLOW}", "limit", *_BAD_NUMBERS, "0", "1001"),
    *bad_parameter("workflows.show", f"GET {WORKFLOW}", "after", *_BAD_NUMBERS),
    Case(route="workflows.show", title="none", request=f"GET {WORKFLOW}", status=404, want=_NONE),
    Case(
        route="workflows.add_nodes",
        title="one",
        request=f"POST {WORKFLOW}/nodes",
        body=_nodes(_LATE),
        status=201,
        want={**_MADE, "msg": "added", "nodes": 1},
        prepare=made,
    ),
    Case(
        route="workflows.add_nodes",
        title="again",
        request=f"POST {WORKFLOW}/nodes",
        body=_nodes(_LATE),
        status=200,
        want={**_MADE, "msg": "repeated", "nodes": 1},
        prepare=added,
    ),
    Case(
        route="workflows.add_nodes",
        title="no workflow",
        request=f"POST {WORKFLOW}/nodes",
        body=_nodes(_LATE),
        status=404,
        want=_NONE,
    ),
    Case(
        route="workflows.add_nodes",
        title="done",
        request=f"POST {WORKFLOW}/nodes",
        body=_nodes(_LATE),
        status=409,
        want=error("the workflow is done: no nodes can be added to it"),
        prepare=done,
    ),
    Case(
        route="workflows.add_nodes",
        title="cancelled",
        request=f"POST {WORKFLOW}/nodes",
        body=_nodes(_LATE),
        status=409,
        want=error("the workflow is cancelled: no nodes can be added to it"),
        prepare=cancelled,
    ),
    Case(
        route="workflows.add_nodes",
        title="there already",
        request=f"POST {WORKFLOW}/nodes",
        body=_nodes('{"name": "print", "queue": "{queue}"}'),
        status=400,
        want=error('node "print" is there already'),
        prepare=made,
    ),
    Case(
        route="workflows.add_nodes",
        title="too large",
        request=f"POST {WORKFLOW}/nodes",
        body="x" * (4 * 1024 * 1024 + 1),
        status=413,
        want=error("body too large"),
    ),
    Case(
        route="workflows.results",
        title="of what it depends on",
        request=f"GET {WORKFLOW}/results?node=send",
        status=200,
        want={"results": [{"node": "print", "is_there": True, "result": "cGFwZXI="}], "after": None},
        prepare=done,
    ),
    Case(
        route="workflows.results",
        title="not yet",
        request=f"GET {WORKFLOW}/results?node=send",
        status=200,
        want={"results": [{"node": "print", "is_there": False, "result": None}], "after": None},
        prepare=made,
    ),
    *bad_parameter("workflows.results", f"GET {WORKFLOW}/results", "after", *_BAD_NUMBERS),
    Case(
        route="workflows.results",
        title="no node",
        request=f"GET {WORKFLOW}/results?node=x",
        status=404,
        want=error("node not found"),
        prepare=made,
    ),
    Case(route="workflows.results", title="none", request=f"GET {WORKFLOW}/results", status=404, want=_NONE),
    Case(
        route="workflows.cancel",
        title="one that runs",
        request=f"POST {WORKFLOW}/cancel",
        status=200,
        want={"msg": "cancelled", "changed": True},
        prepare=made,
    ),
    Case(
        route="workflows.cancel",
        title="again",
        request=f"POST {WORKFLOW}/cancel",
        status=200,
        want={"msg": "cancelled", "changed": False},
        prepare=cancelled,
    ),
    Case(
        route="workflows.cancel",
        title="done",
        request=f"POST {WORKFLOW}/cancel",
        status=409,
        want=error("the workflow is done: there is nothing to cancel"),
        prepare=done,
    ),
    *_of_all_states("workflows.cancel", "cancel"),
    Case(
        route="workflows.retry",
        title="one that failed",
        request=f"POST {WORKFLOW}/retry",
        status=200,
        want={"msg": "retried", "count": 1},
        prepare=failed,
    ),
    Case(
        route="workflows.retry",
        title="one that runs",
        request=f"POST {WORKFLOW}/retry",
        status=409,
        want=error("the workflow is running: there is nothing to retry"),
        prepare=made,
    ),
    *_of_all_states("workflows.retry", "retry"),
]
