"""Workflows in the API's JSON."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

from queues.engine import (
    NodeRequest,
    NodeResult,
    NodeResults,
    NodesAdded,
    NodeState,
    Workflow,
    WorkflowNode,
    WorkflowState,
)

from .http_json import whole_s


def node_json(node: NodeRequest) -> dict[str, Any]:
    options = node.options
    content: dict[str, Any] = {
        "name": node.name,
        "queue": node.queue,
        "data": b64encode(node.body).decode("ascii"),
        "depends_on": node.depends_on,
        "on_dependency_failure": options.on_dependency_failure.value,
        "ttl": whole_s(options.ttl_ms),
        "tries": options.tries,
        "priority": options.priority,
        "backoff": str(options.backoff),
        "attributes": options.attributes,
        "limit_key": options.limit_key,
    }
    if options.at_ms is not None:
        content["at"] = options.at_ms / 1000
    elif options.delay_ms:
        content["delay"] = options.delay_ms / 1000
    return content


def nodes_added(content: dict[str, Any]) -> NodesAdded:
    return NodesAdded(workflow_id=content["workflow_id"], nodes=content["nodes"], is_new=content["msg"] != "repeated")


def workflow_of(content: dict[str, Any]) -> Workflow:
    return Workflow(
        namespace=content["namespace"],
        workflow_id=content["id"],
        name=content["name"],
        state=WorkflowState(content["state"]),
        created_ms=content["created_ms"],
        ended_ms=content["ended_ms"],
        retention_ms=content["retention"] * 1000,
        nodes_total=content["nodes_total"],
        nodes_done=content["nodes_done"],
        nodes_failed=content["nodes_failed"],
        now_ms=content["now_ms"],
        nodes=tuple([_node(node) for node in content["nodes"]]),
        after=content["after"],
    )


def _node(content: dict[str, Any]) -> WorkflowNode:
    return WorkflowNode(
        name=content["name"],
        queue=content["queue"],
        job_id=content["job_id"],
        state=NodeState(content["state"]),
        depends_on=tuple(content["depends_on"]),
        on_failure=content["on_dependency_failure"],
        started_ms=content["started_ms"],
        ended_ms=content["ended_ms"],
        attempts=content["attempts"],
        error=content["error"] or "",
    )


def node_results(content: dict[str, Any]) -> NodeResults:
    return NodeResults(
        results=tuple(
            [
                NodeResult(
                    name=one["node"],
                    is_there=one["is_there"],
                    body=None if one["result"] is None else b64decode(one["result"]),
                )
                for one in content["results"]
            ]
        ),
        after=content["after"],
    )
