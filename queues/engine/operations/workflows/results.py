"""Reads the results of the nodes that a node depends on, for the handler of its job."""

from __future__ import annotations

from typing import Final

from ... import limits
from ...errors import NodeNotFoundError, WorkflowNotFoundError
from ...keys import Layout
from ...names import check_workflow_id
from ...operation import Paced, Plan
from ...values import JobState
from ...workflow_values import NodeResult, NodeResults
from ..inspect import result
from . import records
from .nodes import Node

_SMALL_BYTES: Final = 4 * 1024
_AT_ONCE: Final = 16
"""Results in one round trip, until it is known that they are small."""


def read_results(
    layout: Layout, namespace: str, workflow_id: str, node: str, *, after: int = 0, now_ms: int | None = None
) -> Plan[NodeResults]:
    """Results of the nodes that `node` depends on, in the order in which it names them, from place `after` on.

    A page ends with about PAGE_BUDGET_BYTES. Raises WorkflowNotFoundError.
    """
    check_workflow_id(workflow_id)
    workflow = layout.workflow(namespace, workflow_id)
    (record,) = yield [records.find_nodes(workflow, [node], now_ms=now_ms)]
    if record.summary is None:
        raise WorkflowNotFoundError
    found = record.found[0]
    if found is None:
        raise NodeNotFoundError
    needs = found.node.needs[after : after + limits.NODES_PER_REQUEST]
    needed: dict[int, Node] = {}
    size = limits.NODE_READ_PAGE
    pages = sorted({number // size for number in needs})
    for page, nodes in zip(
        pages, (yield [records.read_nodes(workflow, first=page * size, limit=size) for page in pages]), strict=True
    ):
        needed |= {page * size + place: one for place, (one, _) in enumerate(nodes)}
    results: list[NodeResult] = []
    total, at_once = 0, _AT_ONCE
    while len(results) < len(needs) and total < limits.PAGE_BUDGET_BYTES:
        part = [needed[number] for number in needs[len(results) : len(results) + at_once]]
        answers = yield Paced([result(layout.queue(namespace, one.queue), one.job_id, now_ms=now_ms) for one in part])
        for one, answer in zip(part, answers, strict=True):
            total += len(answer.body or b"")
            is_there = answer.state is JobState.COMPLETED
            results.append(NodeResult(name=one.name, is_there=is_there, body=answer.body))
        at_once = limits.NODE_PAGE if total < _SMALL_BYTES * len(results) else _AT_ONCE
    read = after + len(results)
    return NodeResults(results=tuple(results), after=read if read < len(found.node.needs) else None)
