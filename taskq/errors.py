"""Errors that callers of the library get."""

from __future__ import annotations

from typing import Any


class TaskqClientError(Exception):
    """Base of the errors that callers of the library get."""


class NotConfiguredError(TaskqClientError):
    """The app has no URL, or options that do not fit together."""


class SerializationError(TaskqClientError):
    """Arguments or a result cannot be serialized or deserialized."""


class ResultTimeoutError(TaskqClientError, TimeoutError):
    """The job `job_id` did not end within the time that the caller gave it. It goes on."""

    job_id = ""


class JobFailedError(TaskqClientError):
    """The job is a dead letter: its tries are used up, or it was cancelled. `error`: what its last attempt said."""

    def __init__(self, job_id: str, error: str) -> None:
        super().__init__(f"job {job_id} failed: {error}")
        self.job_id = job_id
        self.error = error

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.job_id, self.error)


class ResultGoneError(TaskqClientError):
    """A call of a workflow needs the result of another node, and that is gone, or the node is not done."""

    def __init__(self, node: str) -> None:
        super().__init__(f"the result of node {node!r} is gone: its job was deleted, or it is not done")
        self.node = node

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.node,)


class JobGoneError(TaskqClientError):
    """There is no such job: it was deleted or has expired, or it ended and its result was not kept."""

    def __init__(self, job_id: str) -> None:
        super().__init__(
            f"there is no job {job_id}: it was deleted or expired, or it is done and its result is not kept "
            "(retention=, on the task or the call)"
        )
        self.job_id = job_id

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.job_id,)
