"""Results of Django's Tasks: their ids, and how they follow from what the engine knows of a job."""

from __future__ import annotations

import builtins
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.utils import timezone

from queues.engine import JobDetail, JobState
from queues.engine.names import is_job_id

from .compat import Task, TaskError, TaskResult, TaskResultStatus

if TYPE_CHECKING:
    from queues.engine.values import AttemptRecord

STATUS: Final = {
    JobState.READY: TaskResultStatus.READY,
    JobState.DELAYED: TaskResultStatus.READY,
    JobState.RETRY: TaskResultStatus.READY,
    JobState.BLOCKED: TaskResultStatus.READY,
    JobState.GROUPED: TaskResultStatus.READY,
    JobState.WORKING: TaskResultStatus.RUNNING,
    JobState.COMPLETED: TaskResultStatus.SUCCESSFUL,
    JobState.DEAD: TaskResultStatus.FAILED,
}
KEY_PREFIX: Final = "django:"
NOTED_ATTEMPTS: Final = 10
"""As many tracebacks are kept as the engine keeps failed attempts."""

TRACEBACK_MAX: Final = 16_000
_CHOSEN = re.compile(r"[0-9a-f]{32}\Z")
_CLASS_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+\Z")


@dataclass(frozen=True, slots=True)
class ResultId:
    """The id of a result: `QUEUE:JOB`. `name` is a job's id, or what the client chose before there was a job.

    A chosen name is the end of the job's idempotency key, by which the job is found.
    """

    queue: str
    name: str

    def __str__(self) -> str:
        return f"{self.queue}:{self.name}"

    @property
    def key(self) -> str | None:
        """The job's key; None: `name` is the job's id."""
        return None if is_job_id(self.name) else KEY_PREFIX + self.name

    @classmethod
    def choose(cls, queue: str) -> ResultId:
        """A new id, for a job that does not exist yet."""
        return cls(queue, uuid.uuid4().hex)

    @classmethod
    def parse(cls, text: str) -> ResultId | None:
        """None if `text` is no id of a result."""
        queue, _, name = str(text).partition(":")
        return cls(queue, name) if is_job_id(name) or _CHOSEN.match(name) else None


def to_datetime(ms: int | None) -> datetime | None:
    """A time of the engine as Django's `timezone.now()` would give it."""
    if ms is None:
        return None
    at = datetime.fromtimestamp(ms / 1_000, UTC)
    return at if settings.USE_TZ else timezone.make_naive(at)


def result_of_job(
    task: Task[..., Any],
    backend: str,
    result_id: str,
    job: JobDetail,
    *,
    args: list[Any],
    kwargs: dict[str, Any],
    note: Mapping[str, bytes],
) -> TaskResult[Any]:
    """The result of a job as it is now, without its return value. `note`: what was said of its failed attempts."""
    began = job.used > 0
    first_ms = job.history[0].taken_ms if job.history else job.taken_ms
    run_after = to_datetime(job.due_ms) if job.attempt == 0 and (job.due_ms or 0) > job.published_ms else None
    return TaskResult(
        task=task.using(priority=job.priority, queue_name=job.queue, run_after=run_after, backend=backend),
        id=result_id,
        status=STATUS[job.state],
        enqueued_at=to_datetime(job.published_ms),
        started_at=to_datetime(first_ms) if began else None,
        finished_at=to_datetime(_finished_ms(job)),
        last_attempted_at=to_datetime(job.taken_ms) if began else None,
        args=args,
        kwargs=kwargs,
        backend=backend,
        errors=[_error_of(attempt, note) for attempt in job.history],
        worker_ids=_worker_ids(job),
    )


def _finished_ms(job: JobDetail) -> int | None:
    if job.state is JobState.COMPLETED and job.kept_until_ms is not None:
        return job.kept_until_ms - job.retention_ms
    return job.died_ms


def _worker_ids(job: JobDetail) -> list[str]:
    """One for each attempt. Of a job that failed more often than the engine remembers, the first ones are empty."""
    known = [attempt.consumer for attempt in job.history]
    if job.state in (JobState.WORKING, JobState.COMPLETED):
        known.append(job.consumer)
    return [""] * (job.used - len(known)) + known


# Errors. The engine keeps a kilobyte of text of each failed attempt; class and traceback are in the job's note, which
# expires earlier than a dead letter.


def noted_error(attempt: int, error: TaskError) -> dict[str, str]:
    """An attempt's error as fields of the job's note."""
    traceback = error.traceback
    if len(traceback) > TRACEBACK_MAX:
        half = TRACEBACK_MAX // 2
        traceback = f"{traceback[:half]}\n...\n{traceback[-half:]}"
    return {f"error{attempt % NOTED_ATTEMPTS}": f"{attempt}\n{error.exception_class_path}\n{traceback}"}


def _error_of(attempt: AttemptRecord, note: Mapping[str, bytes]) -> TaskError:
    noted = note.get(f"error{attempt.attempt % NOTED_ATTEMPTS}", b"").decode("utf-8", "replace")
    number, _, rest = noted.partition("\n")
    if number == str(attempt.attempt):
        path, _, traceback = rest.partition("\n")
        return TaskError(exception_class_path=path, traceback=traceback)
    return TaskError(exception_class_path=_class_path(attempt), traceback=attempt.error or attempt.outcome)


def _class_path(attempt: AttemptRecord) -> str:
    """The class that an error's text begins with, as tracebacks end; of other texts the class that says the same."""
    if attempt.outcome == "lease_lost":
        return "queues.engine.LeaseLostError"
    head = attempt.error.partition("\n")[0].partition(":")[0]
    if _CLASS_PATH.match(head):
        return head
    known = getattr(builtins, head, None)
    if isinstance(known, type) and issubclass(known, BaseException):
        return f"builtins.{head}"
    return {"timeout": "builtins.TimeoutError", "cancelled": "taskq.outcomes.Cancel"}.get(head, "builtins.Exception")


def class_path(error: BaseException) -> str:
    """The path by which an exception's class can be imported."""
    return f"{type(error).__module__}.{type(error).__qualname__}"
