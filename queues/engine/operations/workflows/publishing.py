"""Publishes the jobs of nodes that have been committed. May be done twice, by several processes, and left anywhere.

Jobs that wait for others of the same request go first: none of these can be acked before it is there, since no job that
waits for nothing is there yet. Each carries whom it has to tell.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from ... import limits
from ...keys import Layout, QueueKeys, WorkflowKeys
from ...operation import Argument, Operation, Paced, Plan
from ...workflow_values import WorkflowState
from . import node_jobs, records
from .nodes import WORKFLOW_POLICY, WORKFLOW_QUEUE, Node, PendingJob

_ENTRIES_MAX: Final = 1_000
"""Waits and dependants in one call, or those of one job."""

_Job = tuple[int, Node, PendingJob]


def publish_pending(layout: Layout, workflow: WorkflowKeys, *, now_ms: int | None = None) -> Plan[WorkflowState | None]:
    """Publish all jobs that are to be published. The workflow's state, None: there was nothing to do, or it is gone."""
    state: WorkflowState | None = None
    while True:
        (found,) = yield Paced([records.read_unpublished(workflow, now_ms=now_ms)])
        if not found.nodes:
            return state
        calls = [
            _publish(layout, workflow, part, found.now_ms + limits.PUBLISH_WITHIN_MS, now_ms)
            for part in _calls(found.nodes)
        ]
        in_time = yield Paced(calls)
        if not all(in_time):
            continue
        published = [(number, node.job_id) for number, node, _ in found.nodes]
        (state,) = yield [records.mark_published(workflow, published, now_ms=now_ms)]


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
            if call and (entries + its_entries > _ENTRIES_MAX or size + its_size > limits.NODE_STAGE_BYTES):
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
