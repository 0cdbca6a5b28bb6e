"""Cancels workflows: nothing more is published, jobs that have not begun are deleted, running ones are cancelled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import constants
from ...errors import WorkflowConflictError, WorkflowNotFoundError
from ...keys import Layout, WorkflowKeys
from ...names import check_workflow_id
from ...operation import Operation, PacedApart, Plan
from ...values import JobState
from ..workers import WorkerCommand, WorkerCommandKind, cancel_step, command_workers
from . import records
from .nodes import Fate, Node


def cancel_workflow(
    layout: Layout, namespace: str, workflow_id: str, *, given: str, now_ms: int | None = None
) -> Plan[bool]:
    """Cancel a workflow that is running or failed. False: it was cancelled before.

    If the caller dies before all jobs are cancelled, the relay goes on. `given`: distinguishes two commands to workers.
    Raises WorkflowNotFoundError, WorkflowConflictError.
    """
    check_workflow_id(workflow_id)
    workflow = layout.workflow(namespace, workflow_id)
    (asked,) = yield [records.cancel_record(workflow, now_ms=now_ms)]
    if asked.word == "missing":
        raise WorkflowNotFoundError
    if asked.word == "done":
        raise WorkflowConflictError("the workflow is done: there is nothing to cancel")
    if not asked.changed:
        return False
    yield from cancel_nodes(layout, workflow, given=given, now_ms=now_ms)
    yield [records.end_task(workflow, task="cancel", asked_ms=asked.value, now_ms=now_ms)]
    return True


def cancel_nodes(layout: Layout, workflow: WorkflowKeys, *, given: str, now_ms: int | None = None) -> Plan[None]:
    """Cancel all jobs of a workflow that have not ended. The latest nodes first, so that none that waits for another
    one is free before its turn comes. Raises the first error, after all have been tried."""
    (record,) = yield [records.find_nodes(workflow, now_ms=now_ms)]
    if record.summary is None:
        return
    total, size = record.summary.nodes_total, constants.NODE_PAGE
    for first in reversed(range(0, total, size)):
        (page,) = yield [records.read_nodes(workflow, first=first, limit=min(size, total - first))]
        yield from _cancel_page(layout, workflow, page, given, now_ms)


def _cancel_page(
    layout: Layout, workflow: WorkflowKeys, page: Sequence[tuple[Node, Fate]], given: str, now_ms: int | None
) -> Plan[None]:
    nodes = [node for node, fate in reversed(page) if not fate.outcome]
    if not nodes:
        return
    steps: list[Operation[Any]] = [
        cancel_step(layout.queue(workflow.namespace, node.queue), node.job_id, now_ms=now_ms) for node in nodes
    ]
    found = yield PacedApart(steps)
    commands: list[Operation[Any]] = []
    for node, answer in zip(nodes, found, strict=True):
        if isinstance(answer, Exception):
            raise answer
        if answer is not None and answer[0] is JobState.WORKING:
            command = WorkerCommand(WorkerCommandKind.CANCEL, node.job_id, given, workflow.namespace, answer[1])
            commands.append(command_workers(command, now_ms=now_ms))
    if commands:
        yield commands
