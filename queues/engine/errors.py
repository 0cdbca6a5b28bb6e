"""One tree of errors. `code` is stable and goes to clients; `queues.services.errors` maps it to an HTTP status."""

from __future__ import annotations

from typing import ClassVar, Final


class TaskqError(Exception):
    """Base of every error the engine raises on purpose."""

    code: ClassVar[str] = "internal_error"


class InvalidArgumentError(TaskqError):
    """An option is out of its range. `str(error)` names the option and what was wrong with it."""

    code = "invalid_argument"


class LeaseLostError(TaskqError):
    """The attempt no longer holds the job: its lease ran out, or the job was acked, failed, released or deleted."""

    code = "lease_lost"

    def __init__(self, job_id: str) -> None:
        super().__init__(f"lease lost: job {job_id}")
        self.job_id = job_id


class ResultTooLargeError(TaskqError):
    """The job keeps its result, and the one of this ack is longer than BODY_MAX_BYTES. The job was not acked."""

    code = "result_too_large"

    def __init__(self, job_id: str) -> None:
        super().__init__(f"result too large: job {job_id}")
        self.job_id = job_id


class JobNotFoundError(TaskqError):
    """There is no such job in this queue."""

    code = "job_not_found"

    def __init__(self, job_id: str) -> None:
        super().__init__(f"job not found: {job_id}")
        self.job_id = job_id


class QueueNotFoundError(TaskqError):
    """There is no such queue: it holds nothing, was not used in the last ten minutes, and no consumer waits on it."""

    code = "queue_not_found"

    def __init__(self, queue: str) -> None:
        super().__init__(f"queue not found: {queue}")
        self.queue = queue


class DependenciesClosedError(TaskqError):
    """The job takes no more dependencies: it was closed, or was not published open, or one of them has failed."""

    code = "dependencies_closed"

    def __init__(self, job_id: str) -> None:
        super().__init__(f"job takes no more dependencies: {job_id}")
        self.job_id = job_id


class WorkflowNotFoundError(TaskqError):
    """There is no such workflow in the namespace."""

    code = "workflow_not_found"

    def __init__(self) -> None:
        super().__init__("workflow not found")


class NodeNotFoundError(TaskqError):
    """The workflow has no node of that name."""

    code = "node_not_found"

    def __init__(self) -> None:
        super().__init__("node not found")


class WorkflowConflictError(TaskqError):
    """The workflow is not in a state in which that can be done, or has an id that is taken. Nothing was done."""

    code = "workflow_conflict"


_LIMITED_VERBS: Final = {"read": "consume", "write": "publish"}


class LimitReachedError(TaskqError):
    """The token's requests of this kind (read, write) are used up until the interval ends. Nothing was done."""

    code = "limit_reached"

    def __init__(self, kind: str, retry_after_ms: int) -> None:
        super().__init__(f"{_LIMITED_VERBS[kind]} rate limit reached, please retry later")
        self.kind = kind
        self.retry_after_ms = retry_after_ms


class StoreUnavailableError(TaskqError):
    """Redis cannot be reached, refuses for a while (it loads, is a replica, ...), or the connection was lost.

    The effect of the call is unknown: it may or may not have been applied. `reason`: Redis's error code or the name of
    an exception, the same for every call that fails for the same reason.
    """

    code = "store_unavailable"

    def __init__(self, message: str, *, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class NotReplicatedError(StoreUnavailableError):
    """The master wrote it, and too few replicas confirmed that in time: a failover may lose it, or keep it.

    `job_ids`: the jobs that were written. To republish one of them, or to publish again with the same key, makes no
    second job.
    """

    code = "not_replicated"

    def __init__(self, job_ids: tuple[str, ...], *, min_replicas: int, timeout_s: float) -> None:
        replicas = "1 replica" if min_replicas == 1 else f"{min_replicas} replicas"
        super().__init__(
            f"not confirmed by {replicas} within {timeout_s:g} s, so a failover may lose it: "
            "retry with the same key, or republish the job by its id"
        )
        self.job_ids = job_ids


class StoreFullError(TaskqError):
    """Redis refused a write because it reached `maxmemory`. Nothing was written."""

    code = "store_full"


class LayoutError(TaskqError):
    """The pool's data was written by another layout version, or with another number of partitions."""

    code = "layout_mismatch"


class ScriptError(TaskqError):
    """A Lua script failed or replied with something its header does not list: a defect of taskq."""

    code = "script_error"
