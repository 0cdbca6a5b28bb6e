"""Commands to workers, and cancelling running jobs. An act of a person is checked, and noted in the activity log."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final
from uuid import uuid4

from queues.engine import (
    JobState,
    WorkerCommand,
    WorkerCommandKind,
    cancel_job,
    command_workers,
    detail,
    read_worker,
)
from queues.engine.errors import JobNotFoundError, LeaseLostError
from queues.engine.keys import QueueKeys
from queues.engine.names import is_job_id
from queues.engine.operation import Plan
from queues.pools import engine_for

from ..activity import ActivityAction, note_activity
from ..errors import WorkerNotFoundError
from ..permissions import Role, User, check_role
from ..queues.actions import need
from ..queues.page import QueuePlace


class WorkerAct(StrEnum):
    """`quiet`: take no more jobs; `resume`: take jobs again; `stop`: finish what runs, then end."""

    QUIET = "quiet"
    RESUME = "resume"
    STOP = "stop"


_NOTED: Final[Mapping[WorkerAct, ActivityAction]] = {
    WorkerAct.QUIET: ActivityAction.WORKER_QUIETED,
    WorkerAct.RESUME: ActivityAction.WORKER_RESUMED,
    WorkerAct.STOP: ActivityAction.WORKER_STOPPED,
}


def command_worker(*, user: User, pool: str, namespace: str, worker: str, act: WorkerAct) -> None:
    """Give a worker of the namespace a command, which it hears within a second.

    Raises NamespaceNotFoundError, RoleTooLowError, WorkerNotFoundError, StoreUnavailableError.
    """
    check_role(user=user, pool=pool, namespace=namespace, needed=Role.OPERATE)
    engine = engine_for(pool)
    beat = engine.run(read_worker(namespace, worker))
    if beat is None:
        raise WorkerNotFoundError
    engine.run(command_workers(WorkerCommand(WorkerCommandKind(act), worker, uuid4().hex, namespace)))
    note_activity(user=user, action=_NOTED[act], pool=pool, namespace=namespace, target=worker)


def send_command(*, namespace: str, kind: WorkerCommandKind, worker: str) -> Plan[bool]:
    """Give a command to a worker of this namespace. False: there is no such worker."""
    (found,) = yield [read_worker(namespace, worker)]
    if found is None:
        return False
    yield [command_workers(WorkerCommand(kind, worker, uuid4().hex, namespace))]
    return True


def cancel_running_job(*, user: User, place: QueuePlace, job_id: str, attempt: int) -> JobState:
    """Have the worker that runs this attempt end it, and the job with it. Returns the state that the job was found in.

    That is not WORKING if the attempt ended in between: a job that waits is deleted. Raises RoleTooLowError,
    JobNotFoundError, StoreUnavailableError; LeaseLostError if another attempt holds the job by now, or none.
    """
    need(place, Role.OPERATE)
    if not is_job_id(job_id):
        raise JobNotFoundError(job_id)
    engine = engine_for(place.pool)
    state = engine.run(_cancel_attempt(engine.queue(place.namespace, place.queue), job_id, attempt))
    note_activity(
        user=user,
        action=ActivityAction.CANCELLED,
        pool=place.pool,
        namespace=place.namespace,
        queue=place.queue,
        target=job_id,
        count=1,
    )
    return state


def _cancel_attempt(queue: QueueKeys, job_id: str, attempt: int) -> Plan[JobState]:
    (found,) = yield [detail(queue, job_id, preview=0)]
    if found is None:
        raise JobNotFoundError(job_id)
    if found.state is not JobState.WORKING or found.attempt != attempt:
        raise LeaseLostError(job_id)
    state = yield from cancel_job(queue, job_id, given=uuid4().hex)
    if state is None or state in (JobState.DEAD, JobState.COMPLETED):
        raise LeaseLostError(job_id)
    return state
