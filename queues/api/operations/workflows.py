"""Workflows of a namespace: made, read, listed, changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from queues.engine import (
    AsyncEngine,
    cancel_workflow,
    limits,
    list_workflows,
    read_results,
    read_workflow,
    retry_workflow,
)
from queues.engine.ids import make_workflow_id
from queues.engine.limits import NODES_PER_REQUEST, WORKFLOW_PAGE_MAX
from queues.services.policies import EffectivePolicy
from queues.services.workflows import requests
from queues.services.workflows.requests import AskedNode

from ..context import ApiContext
from ..http.body import read_object
from ..http.errors import ParameterError
from ..http.large_requests import run_in_slices
from ..http.query import read_uint
from ..http.request import ApiRequest
from ..http.response import ApiResponse, json_response
from .json_members import read_text
from .workflow_json import (
    BODY_LIMIT,
    check_members,
    nodes_of,
    present_results,
    present_summary,
    present_workflow,
    retention_of,
)


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
    first = read_uint(request.query, "after", 0, most=limits.WORKFLOW_NODES_MAX)
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
    check_members(content, creates=True)
    retention_ms, name, workflow_id = retention_of(content), read_text(content, "name"), content.get("id")
    if workflow_id is not None and not isinstance(workflow_id, str):
        raise ParameterError("invalid id: expected a text")
    nodes = await run_in_slices(nodes_of(content))
    engine, policies = await _prepare(request, context, nodes)
    plan = requests.create(
        layout=engine.layout,
        namespace=request.granted.namespace,
        workflow_id=make_workflow_id() if workflow_id is None else workflow_id,
        nodes=nodes,
        policies=policies,
        name=name,
        retention_ms=retention_ms,
    )
    added = await engine.run(requests.counted(plan, request.limit))
    return _answer(added.workflow_id, added.nodes, is_new=added.is_new, word="created")


async def add_nodes(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Add nodes to one that has not ended."""
    content = await read_object(request, BODY_LIMIT)
    check_members(content, creates=False)
    nodes = await run_in_slices(nodes_of(content))
    engine, policies = await _prepare(request, context, nodes)
    plan = requests.add(
        layout=engine.layout,
        namespace=request.granted.namespace,
        workflow_id=request.path["workflow"],
        nodes=nodes,
        policies=policies,
    )
    added = await engine.run(requests.counted(plan, request.limit))
    return _answer(added.workflow_id, added.nodes, is_new=added.is_new, word="added")


async def results(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """What the nodes that one depends on were acked with."""
    after = read_uint(request.query, "after", 0, most=limits.NODE_DEPENDENCIES_MAX)
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
    return engine, {queue: await context.policy(access, queue) for queue in requests.queues_of(nodes)}


def _answer(workflow_id: str, nodes: int, *, is_new: bool, word: str) -> ApiResponse:
    content: dict[str, Any] = {"msg": word if is_new else "repeated", "workflow_id": workflow_id, "nodes": nodes}
    return json_response(201 if is_new else 200, content)
