"""Finishes what a process began with a workflow before it died, repeats cancellations, and ends workflows.

Called by the relay of the pump. Each step may be done twice.
"""

from __future__ import annotations

from collections import defaultdict

from ... import constants
from ...errors import TaskqError
from ...keys import Layout, WorkflowKeys
from ...operation import Apart, Plan
from ...values import Counts
from ...workflow_values import WorkflowState
from ..jobs import delete_jobs
from . import records
from .cancelling import cancel_nodes
from .publishing import publish_pending
from .retrying import revive_dead


def attend_workflows(layout: Layout, *, now_ms: int | None = None) -> Plan[Counts]:
    """Attend to some workflows of each partition that have something to do. `jobs`: their number.

    Raises the first error, after all have been attended to.
    """
    takes = [records.take_workflows(partition, now_ms=now_ms) for partition in range(layout.partitions)]
    answers = yield Apart(takes)
    errors = [answer for answer in answers if isinstance(answer, TaskqError)]
    names = [name for answer in answers if not isinstance(answer, TaskqError) for name in answer]
    more = any(not isinstance(one, TaskqError) and len(one) == constants.WORKFLOWS_AT_ONCE for one in answers)
    for name in names:
        namespace, _, workflow_id = name.partition("/")
        try:
            yield from attend_workflow(layout, layout.workflow(namespace, workflow_id), now_ms=now_ms)
        except TaskqError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return Counts(jobs=len(names), more=more)


def attend_workflow(layout: Layout, workflow: WorkflowKeys, *, now_ms: int | None = None) -> Plan[None]:
    """Do all that is to be done with one workflow."""
    (task,) = yield [records.read_task(workflow, now_ms=now_ms)]
    if task.state is None:
        yield from _forget(workflow, now_ms)
        return
    if task.ends_ms and task.ends_ms <= task.now_ms and not task.task and not task.again_ms:
        yield from _delete_jobs(layout, workflow, task.nodes, now_ms)
        yield from _forget(workflow, now_ms)
        return
    if task.state is not WorkflowState.CANCELLED:
        yield from publish_pending(layout, workflow, now_ms=now_ms)
    if task.task == "retry":
        yield from revive_dead(layout, workflow, asked_ms=task.asked_ms, now_ms=now_ms)
    if task.task == "cancel" or 0 < task.again_ms <= task.now_ms:
        yield from cancel_nodes(layout, workflow, given=f"workflow {task.asked_ms}", now_ms=now_ms)
    yield from _drop_staged(workflow, now_ms)
    yield [records.end_task(workflow, task=task.task, asked_ms=task.asked_ms, now_ms=now_ms)]


def _drop_staged(workflow: WorkflowKeys, now_ms: int | None) -> Plan[None]:
    cursor = "0"
    while True:
        (cursor,) = yield [records.drop_staged(workflow, cursor=cursor, now_ms=now_ms)]
        if cursor == "0":
            return


def _forget(workflow: WorkflowKeys, now_ms: int | None) -> Plan[None]:
    left = 1
    while left:
        (left,) = yield [records.forget_workflow(workflow)]
    yield from _drop_staged(workflow, now_ms)


def _delete_jobs(layout: Layout, workflow: WorkflowKeys, nodes: int, now_ms: int | None) -> Plan[None]:
    """Delete the jobs of all nodes, and with them their results."""
    for first in range(0, nodes, constants.NODE_PAGE):
        (page,) = yield [records.read_nodes(workflow, first=first, limit=min(constants.NODE_PAGE, nodes - first))]
        by_queue: dict[str, list[str]] = defaultdict(list)
        for node, _ in page:
            by_queue[node.queue].append(node.job_id)
        for queue, job_ids in by_queue.items():
            yield from delete_jobs(layout.queue(workflow.namespace, queue), job_ids, now_ms=now_ms)
