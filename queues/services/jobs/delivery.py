"""Delivers jobs, extends their leases and ends them, as consumers and workers ask through the API.

The queue's policy says what the caller leaves open.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Any

from queues.engine import AsyncEngine, ack_attempt, ack_timed, cancel_job, constants, extend, reschedule
from queues.engine.errors import LeaseLostError, ResultTooLargeError, TaskqError
from queues.engine.keys import QueueKeys
from queues.engine.operation import Apart, Operation, Plan
from queues.engine.values import AckOutcome, AckResult, Consumed, JobState, RequestLimit, Rescheduled, value

from ..policies import EffectivePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeRequest:
    """What a consumer asks for. `ttr_s` None: the policy's. `freeze_tries`: this delivery burns no try."""

    ttr_s: int | None = None
    timeout_s: int = 0
    count: int = 1
    freeze_tries: bool = False


def consume_jobs(
    *,
    engine: AsyncEngine,
    queues: Sequence[QueueKeys],
    request: ConsumeRequest,
    policies: Sequence[EffectivePolicy],
    timeout_s: int,
    consumer: str = "",
    limit: RequestLimit | None = None,
) -> Awaitable[Consumed]:
    """Up to `count` jobs of the queues in order of priority, waiting up to `timeout_s` for the first.

    `policies`, one for each queue, say its limits. One call has one length of lease: the first
    queue's, unless the caller says. With `limit` (not in a Redis Cluster) it counts once it gets jobs; raises
    LimitReachedError.
    """
    bounds = [policy.max_in_flight or 0 for policy in policies]
    return engine.wait_consume(
        queues,
        ttr_ms=lease_ms(ttr_s=request.ttr_s, policy=policies[0]),
        timeout_s=timeout_s,
        count=request.count,
        consumer=consumer,
        max_in_flight=bounds,
        freeze_tries=request.freeze_tries,
        limit=limit,
        queue_limits=[policy.queue_limits for policy in policies],
    )


def lease_ms(*, ttr_s: int | None, policy: EffectivePolicy) -> int:
    """How long a delivery may last: as asked, else the policy's, else taskq's default."""
    if ttr_s is None:
        ttr_s = policy.ttr_s if policy.ttr_s is not None else constants.DEFAULT_TTR_S
    return ttr_s * 1000


def extend_lease(
    *, queue: QueueKeys, job_id: str, policy: EffectivePolicy, attempt: int | None = None, ttr_s: int | None = None
) -> Operation[int]:
    """Hold a job for `ttr_s` from now on; answers the new end of the lease, ms. Raises LeaseLostError."""
    return extend(queue, job_id, attempt=attempt, ttr_ms=lease_ms(ttr_s=ttr_s, policy=policy))


@value
class JobAck:
    """One job of a bulk ack. `attempt` None: whichever holds it. `result_too_large`: there was one, of over 1 MiB."""

    job_id: str
    attempt: int | None = None
    result: bytes | None = None
    result_too_large: bool = False


def ack_jobs_of(*, queue: QueueKeys, acks: Sequence[JobAck]) -> Plan[tuple[AckResult, ...]]:
    """End jobs in one batch; outcomes in the order of `acks`. Raises the first error of Redis, once all have run.

    Acks without a result take one script call for each attempt number; one with a result takes a call of its own.
    """
    plain: dict[int | None, list[int]] = {}
    operations: list[Operation[Any]] = []
    indexes: list[list[int]] = []
    for index, ack in enumerate(acks):
        if ack.result is None and not ack.result_too_large:
            plain.setdefault(ack.attempt, []).append(index)
            continue
        indexes.append([index])
        operations.append(
            ack_attempt(
                queue, ack.job_id, attempt=ack.attempt, result=ack.result, result_too_large=ack.result_too_large
            )
        )
    for attempt, group in plain.items():
        indexes.append(group)
        operations.append(ack_timed(queue, [acks[index].job_id for index in group], attempt=attempt))
    results = yield Apart(operations)
    ended: list[AckResult] = [AckResult(AckOutcome.MISSING)] * len(acks)
    for group, result in zip(indexes, results, strict=True):
        for index, one in zip(group, _ended(result), strict=True):
            ended[index] = one
    return tuple(ended)


def _ended(result: AckResult | tuple[AckResult, ...] | TaskqError) -> tuple[AckResult, ...]:
    if isinstance(result, LeaseLostError):
        return (AckResult(AckOutcome.LOST),)
    if isinstance(result, ResultTooLargeError):
        return (AckResult(AckOutcome.TOO_LARGE),)
    if isinstance(result, TaskqError):
        raise result
    return (result,) if isinstance(result, AckResult) else result


def cancel_or_interrupt(*, queue: QueueKeys, job_id: str) -> Plan[JobState | None]:
    """Delete a job that waits; tell the worker of one that runs to end it. Returns its earlier state, or None."""
    return cancel_job(queue, job_id, given=uuid.uuid4().hex)


def make_jobs_ready(*, queue: QueueKeys, job_ids: Sequence[str]) -> Plan[int]:
    """Make delayed jobs, and those between two tries, ready. Returns how many there were."""
    outcomes = yield from reschedule(queue, job_ids, delay_ms=0)
    return outcomes.count(Rescheduled.MOVED)
