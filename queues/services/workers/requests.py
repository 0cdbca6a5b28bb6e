"""What workers do over HTTP beside consuming: ack many jobs, report themselves, annotate the jobs that they run."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from queues.engine import ack_attempt, delete_jobs, reschedule
from queues.engine.errors import LeaseLostError, ResultTooLargeError, TaskqError
from queues.engine.keys import QueueKeys
from queues.engine.operation import Apart, Operation, Plan
from queues.engine.operations.find import find_key
from queues.engine.operations.finish import ack_timed
from queues.engine.operations.workers import (
    NOTE_FIELD_MAX_BYTES,
    BeatReply,
    WorkerCommand,
    WorkerCommandKind,
    annotate,
    cancel_job,
    command_workers,
    hold_key,
    list_workers,
    read_note,
    read_worker,
    worker_beat,
)
from queues.engine.stats.workers import WorkerBeat
from queues.engine.value_class import value
from queues.engine.values import AckOutcome, Ended, JobState, Rescheduled

__all__ = [
    "NOTE_FIELD_MAX_BYTES",
    "BeatReply",
    "JobAck",
    "WorkerCommandKind",
    "ack_jobs_of",
    "annotate_job",
    "cancel",
    "command_worker",
    "delete_jobs_of",
    "hold_key_for",
    "job_of_key",
    "read_job_note",
    "record_beat",
    "run_jobs_now",
    "workers_of",
]


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


def hold_key_for(*, queue: QueueKeys, key: str, job_id: str) -> Operation[str | None]:
    """Have a job that is worked on hold a key. None: it does; else the id of the job that holds it and is worked on.

    Raises InvalidArgumentError.
    """
    return hold_key(queue, key, job_id)


def job_of_key(*, queue: QueueKeys, key: str) -> Operation[str | None]:
    """The id of the job that was published with this key last, in any state; None if there is none.

    Raises InvalidArgumentError.
    """
    return find_key(queue, key)


def delete_jobs_of(*, queue: QueueKeys, job_ids: Sequence[str]) -> Plan[int]:
    """Delete jobs in any state. Returns how many there were."""
    return delete_jobs(queue, job_ids)


def run_jobs_now(*, queue: QueueKeys, job_ids: Sequence[str]) -> Plan[int]:
    """Make delayed jobs, and those between two tries, ready. Returns how many there were."""
    outcomes = yield from reschedule(queue, job_ids, delay_ms=0)
    return outcomes.count(Rescheduled.MOVED)


def read_job_note(*, queue: QueueKeys, job_id: str) -> Operation[dict[str, bytes]]:
    """What a worker said of a job, by field; its `log` among them. Empty if nothing was said."""
    return read_note(queue, job_id)


def annotate_job(
    *, queue: QueueKeys, job_id: str, fields: Mapping[str, str], lines: Sequence[str], keep_ms: int
) -> Operation[None]:
    """Keep what a worker says of a job for `keep_ms`. Raises InvalidArgumentError."""
    return annotate(queue, job_id, fields, lines=lines, keep_ms=keep_ms)


def workers_of(*, namespace: str) -> Plan[tuple[WorkerBeat, ...]]:
    """The workers of a namespace that were heard of lately, by id."""
    return list_workers(namespace)


def record_beat(*, beat: WorkerBeat, since_ms: int, ends: bool) -> Operation[BeatReply]:
    """Record that a worker lives, or that it has ended. Returns the commands that concern it."""
    return worker_beat(beat, since_ms=since_ms, ends=ends)


def command_worker(*, namespace: str, kind: WorkerCommandKind, worker: str) -> Plan[bool]:
    """Give a command to a worker of this namespace. False: there is no such worker."""
    (found,) = yield [read_worker(namespace, worker)]
    if found is None:
        return False
    yield [command_workers(WorkerCommand(kind, worker, uuid.uuid4().hex, namespace))]
    return True
