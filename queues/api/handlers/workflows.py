"""Workflows: what a client sends and is shown as JSON, and the operations."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final
from uuid import uuid4

from queues.engine import (
    AsyncEngine,
    NodeResults,
    Workflow,
    WorkflowNode,
    WorkflowSummary,
    cancel_workflow,
    constants,
    list_workflows,
    read_results,
    read_workflow,
    retry_workflow,
)
from queues.engine.backoff import Backoff, parse_backoff
from queues.engine.constants import (
    MEBIBYTE,
    NODES_PER_REQUEST,
    PRIORITY_MAX,
    PRIORITY_MIN,
    SECONDS_MAX,
    TRIES_MAX,
    WORKFLOW_PAGE_MAX,
)
from queues.engine.names import check_queue, make_workflow_id
from queues.engine.queue_limits import check_limit_key
from queues.engine.values import DependencyFailure
from queues.services.errors import InvalidArgumentError
from queues.services.jobs.publishing import PublishRequest
from queues.services.policies import EffectivePolicy
from queues.services.workflows import creation
from queues.services.workflows.creation import AskedNode

from ..context import ApiContext
from ..http.body import read_object, seconds_as_ms_of
from ..http.errors import ParameterError
from ..http.large_requests import run_in_slices
from ..http.request import ApiRequest, read_uint
from ..http.response import ApiResponse, json_response
from .json_members import (
    check_known,
    read_attributes,
    read_body,
    read_choice,
    read_moment,
    read_text,
    read_whole,
)

BODY_LIMIT: Final = 4 * MEBIBYTE
"""Of the request. Larger workflows are made with some of their nodes, and get the others by further requests."""

_SLICE_NODES: Final = 50

_CREATE: Final = frozenset({"id", "name", "retention", "nodes"})
_ADD: Final = frozenset({"nodes"})
_NODE: Final = frozenset(
    {
        *("name", "queue", "depends_on", "on_dependency_failure", "body", "data"),
        *("delay", "at", "ttl", "tries", "priority", "backoff", "attributes", "limit_key"),
    }
)


def retention_of(content: dict[str, Any]) -> int | None:
    """In ms."""
    seconds = read_whole(content, "retention", least=constants.WORKFLOW_RETENTION_MIN_S, most=SECONDS_MAX)
    return None if seconds is None else seconds * 1000


def nodes_of(content: dict[str, Any]) -> Generator[None, None, list[AskedNode]]:
    """The nodes, in slices. Raises ParameterError, which names the node."""
    rows = content.get("nodes")
    if not isinstance(rows, list):
        raise ParameterError("invalid nodes: expected an array of objects")
    if len(rows) > constants.NODES_PER_REQUEST:
        raise ParameterError(f"too many nodes, a request cannot exceed {constants.NODES_PER_REQUEST}")
    nodes: list[AskedNode] = []
    for place, row in enumerate(rows):
        if place % _SLICE_NODES == _SLICE_NODES - 1:
            yield
        if not isinstance(row, dict):
            raise ParameterError("invalid nodes: expected an array of objects")
        name = row.get("name")
        if not isinstance(name, str) or not name:
            raise ParameterError(f"node {place + 1} of the request has no name")
        try:
            nodes.append(_node(name, row))
        except (ParameterError, InvalidArgumentError) as error:
            raise ParameterError(f'node "{name[: constants.NODE_NAME_MAX]}": {error}') from None
    return nodes


def _node(name: str, row: dict[str, Any]) -> AskedNode:
    check_known(row, _NODE)
    depends_on = row.get("depends_on", [])
    if not isinstance(depends_on, list) or not all(isinstance(one, str) for one in depends_on):
        raise ParameterError("invalid depends_on: expected an array of names of nodes")
    if not isinstance(row.get("queue"), str):
        raise ParameterError("invalid queue: expected a text")
    check_queue(row["queue"])
    at_ms, delay_ms = read_moment(row, "at"), seconds_as_ms_of(row, "delay")
    if at_ms is not None and delay_ms is not None:
        raise ParameterError("at and delay exclude each other")
    limit_key = read_text(row, "limit_key") or None
    if limit_key is not None:
        check_limit_key(limit_key)
    return AskedNode(
        name=name,
        queue=row["queue"],
        body=read_body(row),
        depends_on=tuple(depends_on),
        publish=PublishRequest(
            delay_ms=delay_ms or 0,
            at_ms=at_ms,
            ttl_s=read_whole(row, "ttl", least=0, most=SECONDS_MAX),
            tries=read_whole(row, "tries", least=1, most=TRIES_MAX),
            priority=read_whole(row, "priority", least=PRIORITY_MIN, most=PRIORITY_MAX) or 0,
            backoff=_backoff(row),
            attributes=read_attributes(row),
            limit_key=limit_key,
            on_dependency_failure=read_choice(row, "on_dependency_failure", DependencyFailure, DependencyFailure.WAIT),
        ),
    )


def _backoff(row: dict[str, Any]) -> Backoff | None:
    text = read_text(row, "backoff")
    return parse_backoff(text) if text else None


def present_summary(workflow: WorkflowSummary) -> dict[str, Any]:
    """Without its nodes."""
    return {
        "id": workflow.workflow_id,
        "name": workflow.name,
        "state": workflow.state.value,
        "created_ms": workflow.created_ms,
        "ended_ms": workflow.ended_ms,
        "retention": workflow.retention_ms // 1000,
        "nodes_total": workflow.nodes_total,
        "nodes_done": workflow.nodes_done,
        "nodes_failed": workflow.nodes_failed,
    }


def present_workflow(workflow: Workflow) -> dict[str, Any]:
    """With its nodes, or a page of them."""
    return {
        "namespace": workflow.namespace,
        **present_summary(workflow),
        "now_ms": workflow.now_ms,
        "nodes": [_present_node(node) for node in workflow.nodes],
        "after": workflow.after,
    }


def _present_node(node: WorkflowNode) -> dict[str, Any]:
    return {
        "name": node.name,
        "queue": node.queue,
        "job_id": node.job_id,
        "state": node.state.value,
        "depends_on": node.depends_on,
        "on_dependency_failure": node.on_failure,
        "started_ms": node.started_ms,
        "ended_ms": node.ended_ms,
        "attempts": node.attempts,
        "error": node.error or None,
    }


def present_results(found: NodeResults) -> dict[str, Any]:
    """Results in base64; null where there is none."""
    shown = [
        {
            "node": one.name,
            "is_there": one.is_there,
            "result": None if one.body is None else b64encode(one.body).decode("ascii"),
        }
        for one in found.results
    ]
    return {"results": shown, "after": found.after}


async def list_all(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """A page of them without their nodes, the newest first."""
    limit = read_uint(request.query, "limit", 50, least=1, most=WORKFLOW_PAGE_MAX)
    access, after = request.granted, request.query.get("after", "")
    engine = await context.engine(access.pool)
    page = await engine.run(list_workflows(engine.layout, access.namespace, after=after, limit=limit))
    shown = [present_summary(one) for one in page.workflows]
    return json_response(200, {"namespace": access.namespace, "workflows": shown, "after": page.after})


async def show(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """One of them with its nodes, up to NODES_PER_REQUEST at a time."""
    first = read_uint(request.query, "after", 0, most=constants.WORKFLOW_NODES_MAX)
    limit = read_uint(request.query, "limit", NODES_PER_REQUEST, least=1, most=NODES_PER_REQUEST)
    access = request.granted
    engine = await context.engine(access.pool)
    workflow = await engine.run(
        read_workflow(engine.layout, access.namespace, request.path["workflow"], first=first, limit=limit)
    )
    return json_response(200, present_workflow(workflow))


async def create(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Make one, and publish its jobs."""
    content = await read_object(request, BODY_LIMIT)
    check_known(content, _CREATE)
    retention_ms, name, workflow_id = retention_of(content), read_text(content, "name"), content.get("id")
    if workflow_id is not None and not isinstance(workflow_id, str):
        raise ParameterError("invalid id: expected a text")
    nodes = await run_in_slices(nodes_of(content))
    engine, policies = await _prepare(request, context, nodes)
    plan = creation.create(
        layout=engine.layout,
        namespace=request.granted.namespace,
        workflow_id=make_workflow_id() if workflow_id is None else workflow_id,
        nodes=nodes,
        policies=policies,
        name=name,
        retention_ms=retention_ms,
    )
    added = await engine.run(creation.counted(plan, request.limit))
    return _answer(added.workflow_id, added.nodes, is_new=added.is_new, word="created")


async def add_nodes(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Add nodes to one that has not ended."""
    content = await read_object(request, BODY_LIMIT)
    check_known(content, _ADD)
    nodes = await run_in_slices(nodes_of(content))
    engine, policies = await _prepare(request, context, nodes)
    plan = creation.add(
        layout=engine.layout,
        namespace=request.granted.namespace,
        workflow_id=request.path["workflow"],
        nodes=nodes,
        policies=policies,
    )
    added = await engine.run(creation.counted(plan, request.limit))
    return _answer(added.workflow_id, added.nodes, is_new=added.is_new, word="added")


async def results(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """What the nodes that one depends on were acked with."""
    after = read_uint(request.query, "after", 0, most=constants.NODE_DEPENDENCIES_MAX)
    access, node = request.granted, request.query.get("node", "")
    engine = await context.engine(access.pool)
    found = await engine.run(read_results(engine.layout, access.namespace, request.path["workflow"], node, after=after))
    return json_response(200, present_results(found))


async def cancel(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Delete jobs that have not begun, cancel those that run, publish nothing more."""
    access = request.granted
    engine = await context.engine(access.pool)
    changed = await engine.run(
        cancel_workflow(engine.layout, access.namespace, request.path["workflow"], given=uuid4().hex)
    )
    return json_response(200, {"msg": "cancelled", "changed": changed})


async def retry(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Have its dead nodes come back."""
    access = request.granted
    engine = await context.engine(access.pool)
    count = await engine.run(retry_workflow(engine.layout, access.namespace, request.path["workflow"]))
    return json_response(200, {"msg": "retried", "count": count})


async def _prepare(
    request: ApiRequest, context: ApiContext, nodes: Sequence[AskedNode]
) -> tuple[AsyncEngine, Mapping[str, EffectivePolicy]]:
    """The engine, and the policies of the nodes' queues."""
    engine = await context.engine_after_body(request)
    access = request.granted
    return engine, {queue: await context.policy(access, queue) for queue in creation.queues_of(nodes)}


def _answer(workflow_id: str, nodes: int, *, is_new: bool, word: str) -> ApiResponse:
    content: dict[str, Any] = {"msg": word if is_new else "repeated", "workflow_id": workflow_id, "nodes": nodes}
    return json_response(201 if is_new else 200, content)
