"""Results of the nodes of a workflow that another one depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from queues.engine import NodeResult

from .app_protocol import AppProtocol
from .job import value_in
from .outcomes import ResultGoneError


def read_results(app: AppProtocol, workflow_id: str, node: str) -> dict[str, Any]:
    """By the names of the nodes. Raises ResultGoneError, SerializationError, WorkflowNotFoundError."""
    found: list[NodeResult] = []
    after: int | None = 0
    while after is not None:
        page = app.broker.run(app.broker.node_results(workflow_id, node, after=after))
        found += page.results
        after = page.after
    return _values(app, found)


async def aread_results(app: AppProtocol, workflow_id: str, node: str) -> dict[str, Any]:
    """The same for asyncio."""
    found: list[NodeResult] = []
    after: int | None = 0
    while after is not None:
        page = await app.broker.arun(app.broker.node_results(workflow_id, node, after=after))
        found += page.results
        after = page.after
    return _values(app, found)


async def results_taken(app: AppProtocol, workflow: Mapping[str, str]) -> list[Any]:
    """The arguments that come before a call's own (`Message.workflow`)."""
    takes = workflow.get("takes")
    if not takes:
        return []
    values = list((await aread_results(app, workflow["id"], workflow["node"])).values())
    return [values] if takes == "results" else values


def _values(app: AppProtocol, found: Sequence[NodeResult]) -> dict[str, Any]:
    for one in found:
        if not one.is_there:
            raise ResultGoneError(one.name)
    return {one.name: value_in(app, one.body) for one in found}
