"""Publishes the jobs of nodes that have been committed. May be done twice, by several processes, and left anywhere.

Jobs that wait for others of the same request go first: none of these can be acked before it is there, since no job that
waits for nothing is there yet. Each job carries its dependants. Only a deletion, or the failure of a node that was
there before, may come in between: so the dependants of nodes that have failed are told again at the end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from ... import constants
from ...keys import Layout, QueueKeys, WorkflowKeys
from ...operation import Argument, Operation, Paced, Plan, in_pages
from ...values import Dependency, DependencyFailure
from ...workflow_values import WorkflowState
from ..dependencies import POLICIES, Settlement, settle
from . import node_jobs, records
from .nodes import WORKFLOW_POLICY, WORKFLOW_QUEUE, Node, PendingJob
from .reading import read_all

_ENTRIES_MAX: Final = 500
"""Waits and dependants in one call, or those of one job."""

WAIT: Final = POLICIES[DependencyFailure.WAIT]
_Job = tuple[int, Node, PendingJob]


def publish_pending(layout: Layout, workflow: WorkflowKeys, *, now_ms: int | None = None) -> Plan[WorkflowState | None]:
    """Publish all jobs that are to be published. The workflow's state, None: there was nothing to do, or it is gone."""
    state: WorkflowState | None = None
    while True:
        (found,) = yield Paced([records.read_unpublished(workflow, now_ms=now_ms)])
        if not found.nodes:
            if state is WorkflowState.FAILED:
                yield from _tell_again(layout, workflow, now_ms)
            return state
        calls = [
            _publish(layout, workflow, part, found.now_ms + constants.PUBLISH_WITHIN_MS, now_ms)
            for part in _calls(found.nodes)
        ]
        in_time = yield Paced(calls)
        if not all(in_time):
            continue
        published = [(number, node.job_id) for number, node, _ in found.nodes]
        (state,) = yield [records.mark_published(workflow, published, now_ms=now_ms)]


def _tell_again(layout: Layout, workflow: WorkflowKeys, now_ms: int | None) -> Plan[None]:
    """Tell those that depend on nodes which have failed."""
    nodes = yield from read_all(workflow, now_ms)
    dead = [node for node, fate in nodes if fate.outcome == "dead"]
    facts = yield from node_jobs.find_facts(
        [(layout.queue(workflow.namespace, node.queue), node.job_id) for node in dead], now_ms=now_ms
    )
    still_dead = {node.job_id for node, found in zip(dead, facts, strict=True) if found.state == "dead"}
    settlements: dict[str, list[Settlement]] = defaultdict(list)
    for node, fate in nodes:
        for number in [] if fate.outcome else node.needs:
            needed, its = nodes[number]
            is_told = its.outcome in ("deleted", "expired") or (needed.job_id in still_dead and node.policy != WAIT)
            if is_told:
                text = f"{node.policy}{Dependency(queue=needed.queue, job_id=needed.job_id)}"
                settlements[node.queue].append(Settlement(node.job_id, text, its.outcome))
    told: list[Operation[Any]] = [
        settle(layout.queue(workflow.namespace, queue), part, now_ms=now_ms)
        for queue, its in settlements.items()
        for part in in_pages(its, constants.SETTLE_PAGE)
    ]
    if told:
        yield told


def _calls(jobs: Sequence[_Job]) -> list[list[_Job]]:
    """Jobs that share a call: of one queue with equal options, not too many and not too large together."""
    groups: dict[tuple[str, tuple[Argument, ...]], list[_Job]] = defaultdict(list)
    for job in jobs:
        groups[job[1].queue, job[2].arguments].append(job)
    calls: list[list[_Job]] = []
    for group in groups.values():
        size = entries = 0
        call: list[_Job] = []
        for job in group:
            its_entries, its_size = len(job[2].waits) + len(job[2].dependants), len(job[2].body)
            is_full = len(call) == constants.NODE_PUBLISH_MAX or entries + its_entries > _ENTRIES_MAX
            if call and (is_full or size + its_size > constants.NODE_STAGE_BYTES):
                calls.append(call)
                call, size, entries = [], 0, 0
            call.append(job)
            size, entries = size + its_size, entries + its_entries
        calls.append(call)
    return calls


def _publish(
    layout: Layout, workflow: WorkflowKeys, jobs: Sequence[_Job], deadline_ms: int, now_ms: int | None
) -> Operation[bool]:
    queue: QueueKeys = layout.queue(workflow.namespace, jobs[0][1].queue)
    return node_jobs.publish_nodes(
        queue,
        [(node.job_id, job) for _, node, job in jobs],
        dependants=[workflow_dependant(workflow, number) for number, _, _ in jobs],
        deadline_ms=deadline_ms,
        now_ms=now_ms,
    )


def workflow_dependant(workflow: WorkflowKeys, number: int) -> str:
    """The workflow as one more job that depends on a node (lua/subscribe.lua): it is told how the node ends."""
    queue = f"{workflow.namespace}/{WORKFLOW_QUEUE}"
    return "\t".join((WORKFLOW_POLICY, queue, workflow.workflow_id, str(number)))
