"""Workflows as values: what is asked for, and what is read. Times: ms since the epoch by the Redis server's clock."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .values import DEFAULT_OPTIONS, PublishOptions


class WorkflowState(StrEnum):
    """`failed`: a node is dead, was deleted or has expired; others may be running. Retried, it is running again."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class NodeState(StrEnum):
    """Where a node is: the states of its job, `done` once that was acked, and how it may have ended otherwise.

    `pending`: its job is about to be published. `cancelled`: it was deleted when the workflow was cancelled. `gone`:
    the job is there no more, and why is not known (yet).
    """

    PENDING = "pending"
    BLOCKED = "blocked"
    DELAYED = "delayed"
    READY = "ready"
    WORKING = "working"
    RETRY = "retry"
    DONE = "done"
    DEAD = "dead"
    DELETED = "deleted"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRequest:
    """A node that is to be added: a job for `queue`, published once all nodes in `depends_on` have been acked.

    `options` have neither a key nor dependencies nor a retention: results are kept as long as the workflow.
    """

    name: str
    queue: str
    body: bytes
    depends_on: tuple[str, ...] = ()
    options: PublishOptions = DEFAULT_OPTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowNode:
    """A node as it is now. `depends_on`: names of nodes. `attempts`: deliveries; times None where they do not apply.

    `started_ms`: of the newest attempt. `error`: of the newest attempt that failed, its first 200 characters.
    """

    name: str
    queue: str
    job_id: str
    state: NodeState
    depends_on: tuple[str, ...]
    on_failure: str
    started_ms: int | None
    ended_ms: int | None
    attempts: int
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowSummary:
    """A workflow without its nodes. `nodes_total`, `nodes_done`, `nodes_failed`: how many there are.

    `ended_ms` None: it is running. A failed one ended when its first node failed.
    """

    namespace: str
    workflow_id: str
    name: str
    state: WorkflowState
    created_ms: int
    ended_ms: int | None
    retention_ms: int
    nodes_total: int
    nodes_done: int
    nodes_failed: int
    now_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow(WorkflowSummary):
    """A workflow with its nodes, or a page of them, in the order in which they were added.

    `after`: number from which the next page begins; None: this was the last.
    """

    nodes: tuple[WorkflowNode, ...]
    after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowPage:
    """A page of workflows, the newest first. `after` goes into the next call; None: this was the last."""

    workflows: tuple[WorkflowSummary, ...]
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesAdded:
    """`nodes`: how many the request has. `is_new` False: it repeats a request that was carried out before."""

    workflow_id: str
    nodes: int
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResult:
    """What a node's job was acked with. `body` None: without a result. `is_there` False: the job is not completed, or
    was deleted, with its result."""

    name: str
    is_there: bool
    body: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResults:
    """A page of results. `after`: place from which the next page begins; None: this was the last."""

    results: tuple[NodeResult, ...]
    after: int | None
