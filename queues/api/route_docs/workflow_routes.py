"""What the OpenAPI document says of the routes of workflows."""

from __future__ import annotations

from typing import Any, Final

from .documentation import AFTER, JOB_ID, Documentation, Parameter, Reply

_SUMMARY: Final[dict[str, Any]] = {
    "id": "invoice-7",
    "name": "Invoice",
    "state": "running",
    "created_ms": 1767225600000,
    "ended_ms": None,
    "retention": 604800,
    "nodes_total": 1,
    "nodes_done": 0,
    "nodes_failed": 0,
}
_NODE: Final[dict[str, Any]] = {
    "name": "print",
    "queue": "orders",
    "job_id": JOB_ID,
    "state": "ready",
    "depends_on": [],
    "on_dependency_failure": "wait",
    "started_ms": None,
    "ended_ms": None,
    "attempts": 0,
    "error": None,
}
_NONE: Final = Reply(404, "the namespace has no such workflow", {"error": "workflow not found"})
_TOO_LARGE: Final = Reply(413, "the request is longer than 4 MiB", {"error": "body too large"})
_RATE_LIMITED: Final = Reply(
    429,
    "the token's rate of publishes is used up; `Retry-After` says for how long",
    {"msg": "rate limit reached, please retry later"},
)
_NODES: Final = (
    "`nodes`: an array of 1 to 1,000 objects with `name` and `queue`. Optional: `depends_on` (names of nodes), "
    "`on_dependency_failure` (wait, fail, continue), the job's `body` (a text, or an object or array, whose JSON it "
    "is) or `data` (base64), `delay`, `at`, `ttl` (default: the policy's, else 30 days), `tries`, `priority`, "
    "`backoff`, `attributes`, `limit_key`. At most 4 MiB"
)

LIST_WORKFLOWS: Final = Documentation(
    group="workflows",
    summary="Page through the namespace's workflows, the newest first",
    parameters=(AFTER, Parameter("limit", "integer", "workflows per page, up to 100", 50)),
    replies=(
        Reply(
            200,
            "a page; `after` is null on the last one. `state`: running, done, failed, cancelled",
            {"namespace": "shop", "workflows": [_SUMMARY], "after": None},
        ),
        Reply(400, "a parameter cannot be read", {"error": "invalid limit"}),
    ),
)
CREATE_WORKFLOW: Final = Documentation(
    group="workflows",
    summary="Make a workflow: all of its jobs are published, or none",
    body="`id` (letters, digits, - and _, up to 64; without it one is made), `name`, `retention` (seconds for which it "
    f"is kept once it has ended, 60 or more; 7 days), and {_NODES}",
    body_type="application/json",
    replies=(
        Reply(201, "made", {"msg": "created", "workflow_id": "invoice-7", "nodes": 1}),
        Reply(
            200,
            "the same request was carried out before: nothing has changed",
            {"msg": "repeated", "workflow_id": "invoice-7", "nodes": 1},
        ),
        Reply(
            400,
            "a member is missing, unknown, or wrong; the message names it, or the cycle",
            {"error": "the workflow has a cycle: print → send → print"},
        ),
        Reply(
            409,
            "the id belongs to another workflow",
            {"error": "there is another workflow with the id invoice-7"},
        ),
        _TOO_LARGE,
        _RATE_LIMITED,
    ),
)
SHOW_WORKFLOW: Final = Documentation(
    group="workflows",
    summary="A workflow with its nodes, and where each is",
    parameters=(
        Parameter("after", "integer", "`after` of the page before", 0),
        Parameter("limit", "integer", "nodes per page, up to 1,000", 1_000),
    ),
    replies=(
        Reply(
            200,
            "nodes in the order in which they were added; `after` is null on the last page. `state` of a node: pending "
            "(about to be published), blocked, delayed, ready, working, retry, done, dead, deleted, expired, "
            "cancelled, gone",
            {"namespace": "shop", **_SUMMARY, "now_ms": 1767225601000, "nodes": [_NODE], "after": None},
        ),
        Reply(400, "a parameter cannot be read", {"error": "invalid limit"}),
        _NONE,
    ),
)
ADD_NODES: Final = Documentation(
    group="workflows",
    summary="Add nodes to a workflow that is running or failed; they may depend on those that it has",
    body=_NODES,
    body_type="application/json",
    replies=(
        Reply(201, "added", {"msg": "added", "workflow_id": "invoice-7", "nodes": 1}),
        Reply(
            200,
            "the same request was carried out before: nothing has changed",
            {"msg": "repeated", "workflow_id": "invoice-7", "nodes": 1},
        ),
        Reply(
            400,
            "a member is missing, unknown, or wrong; the message names it",
            {"error": 'node "send" depends on "prin", which is unknown'},
        ),
        _NONE,
        Reply(
            409,
            "the workflow is done or cancelled",
            {"error": "the workflow is done: no nodes can be added to it"},
        ),
        _TOO_LARGE,
        _RATE_LIMITED,
    ),
)
RESULTS: Final = Documentation(
    group="workflows",
    summary="What the nodes that a node depends on were acked with, in the order of its `depends_on`",
    parameters=(
        Parameter("node", "string", "whose dependencies are meant"),
        Parameter("after", "integer", "`after` of the page before", 0),
    ),
    replies=(
        Reply(
            200,
            "`result` in base64, null if there is none; `is_there` false: the node is not done, or its job is gone. A "
            "page ends after about 3 MiB; `after` is null on the last one",
            {"results": [{"node": "print", "is_there": True, "result": "cGFwZXI="}], "after": None},
        ),
        Reply(400, "a parameter cannot be read", {"error": "invalid after"}),
        Reply(404, "the namespace has no such workflow, or it no such node", {"error": "node not found"}),
    ),
)
CANCEL_WORKFLOW: Final = Documentation(
    group="workflows",
    summary="Cancel a workflow: jobs that have not begun are deleted, those that run are cancelled",
    replies=(
        Reply(200, "`changed`: false if it was cancelled before", {"msg": "cancelled", "changed": True}),
        _NONE,
        Reply(409, "the workflow is done", {"error": "the workflow is done: there is nothing to cancel"}),
    ),
)
RETRY_WORKFLOW: Final = Documentation(
    group="workflows",
    summary="Go on from the failed nodes: they come back with one more try, and those that failed because of them wait",
    replies=(
        Reply(200, "how many nodes came back", {"msg": "retried", "count": 1}),
        _NONE,
        Reply(
            409,
            "the workflow has not failed, or no node can come back",
            {"error": "the workflow is running: there is nothing to retry"},
        ),
    ),
)
