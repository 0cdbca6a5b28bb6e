"""Reads workflows: the record, for nodes that have not ended where their jobs are, and the results of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import merge
from typing import Final

from ... import constants
from ...errors import InvalidArgumentError, NodeNotFoundError, WorkflowNotFoundError
from ...keys import Layout, WorkflowKeys
from ...names import check_workflow_id
from ...operation import Paced, Plan
from ...values import JobState
from ...workflow_values import (
    NodeResult,
    NodeResults,
    NodeState,
    Workflow,
    WorkflowNode,
    WorkflowPage,
    WorkflowState,
    WorkflowSummary,
)
from ..inspect import result
from . import node_jobs, records
from .node_jobs import Facts
from .nodes import Fate, Node

_SMALL_BYTES: Final = 4 * 1024
_AT_ONCE: Final = 16
"""Results in one round trip, until it is known that they are small."""


def read_workflow(
    layout: Layout,
    namespace: str,
    workflow_id: str,
    *,
    first: int = 0,
    limit: int | None = None,
    now_ms: int | None = None,
) -> Plan[Workflow]:
    """A workflow with its nodes, or with `limit` of them from number `first` on. Raises WorkflowNotFoundError."""
    check_workflow_id(workflow_id)
    workflow = layout.workflow(namespace, workflow_id)
    (record,) = yield [records.find_nodes(workflow, now_ms=now_ms)]
    summary = record.summary
    if summary is None:
        raise WorkflowNotFoundError
    end = summary.nodes_total if limit is None else min(summary.nodes_total, first + limit)
    found = yield from _read_pages(workflow, first, end)
    states = yield from _states(layout, workflow, found, now_ms)
    names = yield from _names(workflow, found, first)
    nodes = tuple([_node(summary, node, fate, facts, names) for (node, fate), facts in zip(found, states, strict=True)])
    fields = {name: getattr(summary, name) for name in WorkflowSummary.__dataclass_fields__}
    return Workflow(**fields, nodes=nodes, after=end if end < summary.nodes_total else None)


def read_all(workflow: WorkflowKeys, now_ms: int | None) -> Plan[list[tuple[Node, Fate]]]:
    """All nodes, by their numbers."""
    (record,) = yield [records.find_nodes(workflow, now_ms=now_ms)]
    total = record.summary.nodes_total if record.summary is not None else 0
    nodes: list[tuple[Node, Fate]] = []
    for first in range(0, total, constants.NODE_READ_PAGE):
        limit = min(constants.NODE_READ_PAGE, total - first)
        (page,) = yield [records.read_nodes(workflow, first=first, limit=limit)]
        nodes += page
    return nodes


def _read_pages(workflow: WorkflowKeys, first: int, end: int) -> Plan[list[tuple[Node, Fate]]]:
    found: list[tuple[Node, Fate]] = []
    starts = range(first, end, constants.NODE_READ_PAGE)
    pages = yield [
        records.read_nodes(workflow, first=start, limit=min(constants.NODE_READ_PAGE, end - start)) for start in starts
    ]
    for page in pages:
        found += page
    return found


def _states(
    layout: Layout, workflow: WorkflowKeys, found: Sequence[tuple[Node, Fate]], now_ms: int | None
) -> Plan[list[Facts | None]]:
    """Where the jobs of those nodes are whose end is not known; None for the others."""
    asked = [place for place, (_, fate) in enumerate(found) if fate.outcome in ("", "dead")]
    nodes = [found[place][0] for place in asked]
    facts = yield from node_jobs.find_facts(
        [(layout.queue(workflow.namespace, node.queue), node.job_id) for node in nodes], now_ms=now_ms
    )
    states: list[Facts | None] = [None] * len(found)
    for place, one in zip(asked, facts, strict=True):
        states[place] = one
    return states


def _names(workflow: WorkflowKeys, found: Sequence[tuple[Node, Fate]], first: int) -> Plan[dict[int, str]]:
    """Names of these nodes and of those that they depend on, which come before them or are among them."""
    names = {first + place: node.name for place, (node, _) in enumerate(found)}
    missing = {number for node, _ in found for number in node.needs if number not in names}
    others = yield from _read_numbers(workflow, missing)
    return names | {number: node.name for number, node in others.items()}


def _read_numbers(workflow: WorkflowKeys, numbers: Iterable[int]) -> Plan[dict[int, Node]]:
    """Nodes by their numbers: at least those with these numbers, for whole pages are read."""
    size = constants.NODE_READ_PAGE
    starts = sorted({number - number % size for number in numbers})
    if not starts:
        return {}
    pages = yield [records.read_nodes(workflow, first=start, limit=size) for start in starts]
    return {
        start + place: node for start, page in zip(starts, pages, strict=True) for place, (node, _) in enumerate(page)
    }


_ALIVE = {
    "completed": NodeState.DONE,
    "dead": NodeState.DEAD,
    "ready": NodeState.READY,
    "working": NodeState.WORKING,
    "blocked": NodeState.BLOCKED,
    "delayed": NodeState.DELAYED,
    "retry": NodeState.RETRY,
}


def _node(summary: WorkflowSummary, node: Node, fate: Fate, facts: Facts | None, names: dict[int, str]) -> WorkflowNode:
    began, ended, attempts, error = fate.began_ms, fate.ended_ms, fate.attempts, fate.error
    if facts is None:
        state = NodeState(fate.outcome)
    elif facts.state == "gone":
        state = NodeState.GONE
    else:
        state = _ALIVE[facts.state]
        began, ended, attempts, error = facts.began_ms, facts.ended_ms, facts.attempts, facts.error
    if summary.state is WorkflowState.CANCELLED and state in (NodeState.DELETED, NodeState.GONE):
        state = NodeState.CANCELLED
    return WorkflowNode(
        name=node.name,
        queue=node.queue,
        job_id=node.job_id,
        state=state,
        depends_on=tuple([names[number] for number in node.needs]),
        on_failure=node.on_failure,
        started_ms=began or None,
        ended_ms=ended or None,
        attempts=attempts,
        error=error,
    )


def list_workflows(
    layout: Layout, namespace: str, *, after: str = "", limit: int = 50, now_ms: int | None = None
) -> Plan[WorkflowPage]:
    """A page of the namespace's workflows without their nodes, the newest first."""
    if not 1 <= limit <= constants.WORKFLOW_PAGE_MAX:
        raise InvalidArgumentError("invalid limit")
    if not after.isascii() or not after.isprintable() or len(after) > 13 + 1 + constants.WORKFLOW_ID_MAX:
        raise InvalidArgumentError("invalid after")
    before = f"({after}" if after else "+"
    pages = yield [
        records.list_partition_workflows(partition, namespace, before=before, limit=limit + 1)
        for partition in range(layout.partitions)
    ]
    members = [member for _, member in zip(range(limit + 1), merge(*pages, reverse=True), strict=False)]
    shown = members[:limit]
    found = []
    if shown:
        found = yield [
            records.find_nodes(layout.workflow(namespace, member.partition("/")[2]), now_ms=now_ms) for member in shown
        ]
    summaries = tuple([record.summary for record in found if record.summary is not None])
    return WorkflowPage(workflows=summaries, after=shown[-1] if len(members) > limit else None)


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
    needs = found.node.needs[after : after + constants.NODES_PER_REQUEST]
    needed = yield from _read_numbers(workflow, needs)
    results: list[NodeResult] = []
    total, at_once = 0, _AT_ONCE
    while len(results) < len(needs) and total < constants.PAGE_BUDGET_BYTES:
        part = [needed[number] for number in needs[len(results) : len(results) + at_once]]
        answers = yield Paced([result(layout.queue(namespace, one.queue), one.job_id, now_ms=now_ms) for one in part])
        for one, answer in zip(part, answers, strict=True):
            total += len(answer.body or b"")
            is_there = answer.state is JobState.COMPLETED
            results.append(NodeResult(name=one.name, is_there=is_there, body=answer.body))
        at_once = constants.NODE_PAGE if total < _SMALL_BYTES * len(results) else _AT_ONCE
    read = after + len(results)
    return NodeResults(results=tuple(results), after=read if read < len(found.node.needs) else None)
