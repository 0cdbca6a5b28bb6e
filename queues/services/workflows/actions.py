"""What people do to a workflow on its page. All goes into the activity log."""

from __future__ import annotations

from uuid import uuid4

from queues.engine import cancel_workflow as cancel_workflow_of
from queues.engine import retry_workflow as retry_workflow_of
from queues.pools import engine_for

from ..activity import ActivityAction, note_activity
from ..permissions import Role, User, check_role


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
