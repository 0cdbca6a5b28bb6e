"""Retries failed workflows: dead nodes are revived, blocked again if they died because of others.

Those that others wait for come first: then each of the others asks how these are, as a job that is published does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import constants
from ...errors import WorkflowConflictError, WorkflowNotFoundError
from ...keys import Layout, WorkflowKeys
from ...names import check_workflow_id
from ...operation import Operation, Paced, Plan
from ...values import Dependency, DependencyFailure
from ..dependencies import POLICIES
from . import node_jobs, records
from .nodes import Fate, Node, wait_text
from .noting import NodeEnd, note_ends
from .reading import read_all

_LOST = ("deleted", "expired")


def retry_workflow(layout: Layout, namespace: str, workflow_id: str, *, now_ms: int | None = None) -> Plan[int]:
    """Have the dead nodes of a failed workflow come back, each with one more try. Their number.

    If the caller dies before it has come to all, the relay goes on. Raises WorkflowNotFoundError; WorkflowConflictError
    if it has not failed, or if no node can come back: a node that was deleted or has expired cannot.
    """
    check_workflow_id(workflow_id)
    workflow = layout.workflow(namespace, workflow_id)
    (asked,) = yield [records.retry_record(workflow, now_ms=now_ms)]
    if asked.word == "missing":
        raise WorkflowNotFoundError
    if asked.word == "other":
        raise WorkflowConflictError(f"the workflow is {asked.value}: there is nothing to retry")
    revived = yield from revive_dead(layout, workflow, asked_ms=asked.value, now_ms=now_ms)
    yield [records.end_task(workflow, task="retry", asked_ms=asked.value, now_ms=now_ms)]
    if revived.count == 0 and revived.lost:
        raise WorkflowConflictError(f'node "{revived.lost}" was deleted or has expired: it cannot be retried')
    return revived.count


@dataclass(frozen=True, slots=True, kw_only=True)
class Revived:
    """`lost`: a node that cannot come back, if there is one."""

    count: int
    lost: str


def revive_dead(layout: Layout, workflow: WorkflowKeys, *, asked_ms: int, now_ms: int | None = None) -> Plan[Revived]:
    """Revive the nodes that died before `asked_ms`. May be done twice."""
    nodes = yield from read_all(workflow, now_ms)
    count = 0
    for level in _levels(nodes):
        operations = _revivals(layout, workflow, nodes, level, asked_ms, now_ms)
        counts = yield Paced(operations)
        count += sum(counts)
        ends = [
            NodeEnd(
                workflow.workflow_id,
                number,
                layout.queue(workflow.namespace, nodes[number][0].queue),
                nodes[number][0].job_id,
            )
            for number in level
        ]
        for error in (yield from note_ends(layout, ends, now_ms=now_ms)):
            if isinstance(error, Exception):
                raise error
    lost = next((node.name for node, fate in nodes if fate.outcome in _LOST), "")
    return Revived(count=count, lost=lost)


def _levels(nodes: Sequence[tuple[Node, Fate]]) -> list[list[int]]:
    """Numbers of the dead nodes that can come back, those first that others of them wait for.

    A node depends on nodes of lesser numbers, or of its own request, so all are gone through until none is new.
    """
    needs = {
        number: [other for other in _awaited(node) if nodes[other][1].outcome != "done"]
        for number, (node, fate) in enumerate(nodes)
        if fate.outcome == "dead"
    }
    dependants: dict[int, list[int]] = defaultdict(list)
    missing: dict[int, int] = {}
    for number, others in needs.items():
        missing[number] = 0
        for other in others:
            if other in needs:
                dependants[other].append(number)
                missing[number] += 1
            elif nodes[other][1].outcome in _LOST:
                missing[number] += 1  # which is never met
    levels: list[list[int]] = []
    level = [number for number, count in missing.items() if count == 0]
    while level:
        levels.append(level)
        following = []
        for number in level:
            for other in dependants[number]:
                missing[other] -= 1
                if missing[other] == 0:
                    following.append(other)
        level = following
    return levels


def _awaited(node: Node) -> tuple[int, ...]:
    return () if node.policy == POLICIES[DependencyFailure.CONTINUE] else node.needs


def _revivals(
    layout: Layout,
    workflow: WorkflowKeys,
    nodes: Sequence[tuple[Node, Fate]],
    level: Sequence[int],
    asked_ms: int,
    now_ms: int | None,
) -> list[Operation[Any]]:
    by_queue: dict[str, list[tuple[str, list[str]]]] = defaultdict(list)
    for number in level:
        node = nodes[number][0]
        waits = [
            wait_text("?", node.policy, Dependency(queue=nodes[other][0].queue, job_id=nodes[other][0].job_id))
            for other in _awaited(node)
            if nodes[other][1].outcome != "done"
        ]
        by_queue[node.queue].append((node.job_id, waits))
    return [
        node_jobs.revive_nodes(layout.queue(workflow.namespace, queue), part, died_before_ms=asked_ms, now_ms=now_ms)
        for queue, jobs in by_queue.items()
        for part in _parts(jobs)
    ]


def _parts(jobs: Sequence[tuple[str, list[str]]]) -> list[list[tuple[str, list[str]]]]:
    """Jobs with at most about NODE_PAGE waits in one call."""
    parts: list[list[tuple[str, list[str]]]] = [[]]
    size = 0
    for job in jobs:
        if parts[-1] and size + 1 + len(job[1]) > constants.NODE_PAGE:
            parts.append([])
            size = 0
        parts[-1].append(job)
        size += 1 + len(job[1])
    return parts
