"""What workers and clients ask for in several steps: bulk acks, cancelling, making jobs ready, commands to workers."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from queues.engine import (
    WorkerCommand,
    WorkerCommandKind,
    ack_attempt,
    ack_timed,
    cancel_job,
    command_workers,
    read_worker,
    reschedule,
)
from queues.engine.errors import LeaseLostError, ResultTooLargeError, TaskqError
from queues.engine.keys import QueueKeys
from queues.engine.operation import Apart, Operation, Plan
from queues.engine.value_class import value
from queues.engine.values import AckOutcome, Ended, JobState, Rescheduled


@value
class JobAck:
    """One job of a bulk ack. `attempt` None: whichever holds it. `result_too_large`: there was one, of over 1 MiB."""

    job_id: str
    attempt: int | None = None
    result: bytes | None = None
    result_too_large: bool = False


def ack_jobs_of(*, queue: QueueKeys, acks: Sequence[JobAck]) -> Plan[tuple[Ended, ...]]:
    """End jobs in one batch; outcomes in the order of `acks`. Raises the first error of Redis, once all have run.

    Acks without a result take one script call for each attempt number; one with a result takes a call of its own.
    """
    plain: dict[int | None, list[int]] = {}
    operations: list[Operation[Any]] = []
    places: list[list[int]] = []
    for place, ack in enumerate(acks):
        if ack.result is None and not ack.result_too_large:
            plain.setdefault(ack.attempt, []).append(place)
            continue
        places.append([place])
        operations.append(
            ack_attempt(
                queue, ack.job_id, attempt=ack.attempt, result=ack.result, result_too_large=ack.result_too_large
            )
        )
    for attempt, group in plain.items():
        places.append(group)
        operations.append(ack_timed(queue, [acks[place].job_id for place in group], attempt=attempt))
    results = yield Apart(operations)
    ended: list[Ended] = [Ended(AckOutcome.MISSING)] * len(acks)
    for group, result in zip(places, results, strict=True):
        for place, one in zip(group, _ended(result), strict=True):
            ended[place] = one
    return tuple(ended)


def _ended(result: Ended | tuple[Ended, ...] | TaskqError) -> tuple[Ended, ...]:
    if isinstance(result, LeaseLostError):
        return (Ended(AckOutcome.LOST),)
    if isinstance(result, ResultTooLargeError):
        return (Ended(AckOutcome.TOO_LARGE),)
    if isinstance(result, TaskqError):
        raise result
    return (result,) if isinstance(result, Ended) else result


def cancel(*, queue: QueueKeys, job_id: str) -> Plan[JobState | None]:
    """Delete a job that waits, tell the worker that runs it to end it. The state in which it was found, or None."""
    return cancel_job(queue, job_id, given=uuid.uuid4().hex)


def run_jobs_now(*, queue: QueueKeys, job_ids: Sequence[str]) -> Plan[int]:
    """Make delayed jobs, and those between two tries, ready. Returns how many there were."""
    outcomes = yield from reschedule(queue, job_ids, delay_ms=0)
    return outcomes.count(Rescheduled.MOVED)


def command_worker(*, namespace: str, kind: WorkerCommandKind, worker: str) -> Plan[bool]:
    """Give a command to a worker of this namespace. False: there is no such worker."""
    (found,) = yield [read_worker(namespace, worker)]
    if found is None:
        return False
    yield [command_workers(WorkerCommand(kind, worker, uuid.uuid4().hex, namespace))]
    return True
