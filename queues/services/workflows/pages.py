"""What pages show of workflows, to people who may see their namespace, and what people do to one there.

The list is of one namespace, by state, page by page, and says how far each workflow is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from queues.engine import NodeState, StoreUnavailableError, Workflow, WorkflowState, WorkflowSummary, list_workflows
from queues.engine import cancel_workflow as cancel_workflow_of
from queues.engine import read_workflow as read_workflow_of
from queues.engine import retry_workflow as retry_workflow_of
from queues.pools import engine_for, reading_engine_for

from ..activity import ActivityAction, note_activity
from ..permissions import Role, User, check_role, check_visible, places_of, role_in

PAGE: Final = 50
READ_AT_ONCE: Final = 100
READS_MAX: Final = 10
"""With a state, so many times READ_AT_ONCE workflows are looked at; the next page goes on behind them."""

NAMESPACES_TRIED: Final = 20
"""If the person has not said which, the first of so many is shown that has workflows."""

_FAILED: Final = frozenset({NodeState.DEAD, NodeState.DELETED, NodeState.EXPIRED})
_OVER: Final = frozenset({NodeState.DONE, NodeState.CANCELLED, NodeState.GONE, NodeState.WORKING}) | _FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCounts:
    """How many nodes are in which state. `waiting`: neither ended nor at work. `ended`: neither done nor failed.

    `dead`: of those that failed; the others were deleted or have expired, and cannot be retried.
    """

    total: int
    done: int
    failed: int
    working: int = 0
    waiting: int = 0
    ended: int = 0
    dead: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRow:
    """A workflow in a list."""

    workflow: WorkflowSummary
    counts: NodeCounts

    @property
    def duration_ms(self) -> int:
        return duration_of(self.workflow)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowList:
    """Workflows of one namespace, the newest first. `pool` empty: the person sees no namespace.

    `after` goes into the next call; "": these were the last. `namespaces`: all that the person sees. `is_away`: its
    pool does not answer.
    """

    pool: str
    namespace: str
    rows: tuple[WorkflowRow, ...]
    after: str
    namespaces: tuple[tuple[str, str], ...]
    is_away: bool = False


def show_workflows(
    *, user: User, place: tuple[str, str] | None = None, state: WorkflowState | None = None, after: str = ""
) -> WorkflowList:
    """Those of the namespace `place` (pool and name). Raises NamespaceNotFoundError, InvalidArgumentError."""
    if place:
        check_visible(user=user, pool=place[0], namespace=place[1])
    namespaces = tuple(places_of(user=user))
    tried = [place] if place else namespaces[:NAMESPACES_TRIED]
    shown = WorkflowList(pool="", namespace="", rows=(), after="", namespaces=namespaces)
    for pool, namespace in tried:
        one = _read(pool, namespace, state, after, namespaces)
        if one.rows or one.after:
            return one
        if not shown.pool or (shown.is_away and not one.is_away):
            shown = one
    return shown


def _read(
    pool: str,
    namespace: str,
    state: WorkflowState | None,
    after: str,
    namespaces: tuple[tuple[str, str], ...],
) -> WorkflowList:
    rows: list[WorkflowRow] = []
    is_away = False
    for _ in range(READS_MAX):
        try:
            engine = reading_engine_for(pool)
            limit = READ_AT_ONCE if state else PAGE
            page = engine.run(list_workflows(engine.layout, namespace, after=after, limit=limit))
        except StoreUnavailableError:
            is_away = True
            break
        rows += [_row(one) for one in page.workflows if state in (None, one.state)]
        after = page.after or ""
        if not after or len(rows) >= PAGE or state is None:
            break
    return WorkflowList(
        pool=pool, namespace=namespace, rows=tuple(rows), after=after, namespaces=namespaces, is_away=is_away
    )


def _row(workflow: WorkflowSummary) -> WorkflowRow:
    counts = NodeCounts(total=workflow.nodes_total, done=workflow.nodes_done, failed=workflow.nodes_failed)
    return WorkflowRow(workflow=workflow, counts=counts)


def count_nodes(workflow: Workflow) -> NodeCounts:
    """Of a workflow that was read whole."""
    states = Counter(node.state for node in workflow.nodes)
    failed = sum(states[state] for state in _FAILED)
    return NodeCounts(
        total=len(workflow.nodes),
        done=states[NodeState.DONE],
        failed=failed,
        working=states[NodeState.WORKING],
        waiting=sum(count for state, count in states.items() if state not in _OVER),
        ended=states[NodeState.CANCELLED] + states[NodeState.GONE],
        dead=states[NodeState.DEAD],
    )


def duration_of(workflow: WorkflowSummary) -> int:
    """From its making to its end, or until now, in ms."""
    return max(0, (workflow.ended_ms or workflow.now_ms) - workflow.created_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownWorkflow:
    """A workflow, and whether the person may cancel and retry it."""

    workflow: Workflow
    may_operate: bool


def read_workflow(*, user: User, pool: str, namespace: str, workflow_id: str) -> ShownWorkflow:
    """A workflow with all its nodes. Raises NamespaceNotFoundError, WorkflowNotFoundError."""
    check_visible(user=user, pool=pool, namespace=namespace)
    engine = reading_engine_for(pool)
    workflow = engine.run(read_workflow_of(engine.layout, namespace, workflow_id))
    may_operate = role_in(user=user, pool=pool, namespace=namespace) >= Role.OPERATE
    return ShownWorkflow(workflow=workflow, may_operate=may_operate)


def cancel_workflow(*, user: User, pool: str, namespace: str, workflow_id: str) -> bool:
    """Delete jobs that have not begun, cancel those that run. False: it was cancelled before.

    Raises NamespaceNotFoundError, RoleTooLowError, WorkflowNotFoundError, WorkflowConflictError.
    """
    check_role(user=user, pool=pool, namespace=namespace, needed=Role.OPERATE)
    engine = engine_for(pool)
    changed = engine.run(cancel_workflow_of(engine.layout, namespace, workflow_id, given=uuid4().hex))
    if changed:
        _note(user, ActivityAction.WORKFLOW_CANCELLED, pool, namespace, workflow_id)
    return changed


def retry_workflow(*, user: User, pool: str, namespace: str, workflow_id: str) -> int:
    """Have its dead nodes come back; their number. Raises as `cancel_workflow`."""
    check_role(user=user, pool=pool, namespace=namespace, needed=Role.OPERATE)
    engine = engine_for(pool)
    count = engine.run(retry_workflow_of(engine.layout, namespace, workflow_id))
    _note(user, ActivityAction.WORKFLOW_RETRIED, pool, namespace, workflow_id, count=count)
    return count


def _note(
    user: User, action: ActivityAction, pool: str, namespace: str, workflow_id: str, *, count: int | None = None
) -> None:
    note_activity(user=user, action=action, pool=pool, namespace=namespace, queue="", target=workflow_id, count=count)
