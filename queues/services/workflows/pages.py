"""What pages show of workflows, to people who may see their namespace."""

from __future__ import annotations

from dataclasses import dataclass

from queues.engine import Workflow, WorkflowPage
from queues.engine import list_workflows as list_workflows_of
from queues.engine import read_workflow as read_workflow_of
from queues.pools import reading_engine_for

from ..permissions import Role, User, check_visible, role_in


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


def list_workflows(*, user: User, pool: str, namespace: str, after: str = "", limit: int = 50) -> WorkflowPage:
    """A page of them without their nodes, the newest first. Raises NamespaceNotFoundError, InvalidArgumentError."""
    check_visible(user=user, pool=pool, namespace=namespace)
    engine = reading_engine_for(pool)
    return engine.run(list_workflows_of(engine.layout, namespace, after=after, limit=limit))
