"""Reads workflows: the record, for nodes that have not ended where their jobs are, and the results of nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from heapq import merge
from typing import Any, Final

from ... import limits
from ...errors import InvalidArgumentError, NodeNotFoundError, WorkflowNotFoundError
from ...keys import Layout, WorkflowKeys
from ...names import check_workflow_id
from ...operation import Operation, Paced, Plan, in_pages
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
    for first in range(0, total, limits.NODE_READ_PAGE):
        limit = min(limits.NODE_READ_PAGE, total - first)
        (page,) = yield [records.read_nodes(workflow, first=first, limit=limit)]
        nodes += page
    return nodes


def _read_pages(workflow: WorkflowKeys, first: int, end: int) -> Plan[list[tuple[Node, Fate]]]:
    found: list[tuple[Node, Fate]] = []
    starts = range(first, end, limits.NODE_READ_PAGE)
    pages = yield [
        records.read_nodes(workflow, first=start, limit=min(limits.NODE_READ_PAGE, end - start)) for start in starts
    ]
    for page in pages:
        found += page
    return found


def _states(
    layout: Layout, workflow: WorkflowKeys, found: Sequence[tuple[Node, Fate]], now_ms: int | None
) -> Plan[list[Facts | None]]:
    """Where the jobs of those nodes are whose end is not known; None for the others."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, (node, fate) in enumerate(found):
        if fate.outcome in ("", "dead"):
            places[node.queue].append(place)
    asked: list[Sequence[int]] = []
    operations: list[Operation[Any]] = []
    for queue, its in places.items():
        for part in in_pages(its, limits.NODE_PAGE):
            asked.append(part)
            job_ids = [found[place][0].job_id for place in part]
            operations.append(node_jobs.node_facts(layout.queue(workflow.namespace, queue), job_ids, now_ms=now_ms))
    answers = (yield operations) if operations else []
    states: list[Facts | None] = [None] * len(found)
    for part, (_, facts) in zip(asked, answers, strict=True):
        for place, one in zip(part, facts, strict=True):
            states[place] = one
    return states


def _names(workflow: WorkflowKeys, found: Sequence[tuple[Node, Fate]], first: int) -> Plan[dict[int, str]]:
    """Names of these nodes and of those that they depend on, which come before them or are among them."""
    names = {first + place: node.name for place, (node, _) in enumerate(found)}
    missing = {number for node, _ in found for number in node.needs if number not in names}
    pages = sorted({number // limits.NODE_READ_PAGE for number in missing})
    if pages:
        size = limits.NODE_READ_PAGE
        others = yield [records.read_nodes(workflow, first=page * size, limit=size) for page in pages]
        for page, nodes in zip(pages, others, strict=True):
            names |= {page * size + place: node.name for place, (node, _) in enumerate(nodes)}
    return names


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
    if not 1 <= limit <= limits.WORKFLOW_PAGE_MAX:
        raise InvalidArgumentError("invalid limit")
    if not after.isascii() or not after.isprintable() or len(after) > 13 + 1 + limits.WORKFLOW_ID_MAX:
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
