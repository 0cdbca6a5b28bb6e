"""Delivering jobs, and how a delivery ends: acknowledged, failed, released; leases."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from queues.engine import AsyncEngine, ack, ack_attempt, extend, fail, limits, release
from queues.engine.keys import QueueKeys
from queues.engine.operation import Operation
from queues.engine.values import AckOutcome, Consumed, Ended, Failed, RequestLimit

from ..policies import EffectivePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeRequest:
    """What a consumer asks for. `ttr_s` None: the policy's. `freeze_tries`: this hand-out burns no try."""

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

    `policies`, one for each queue, bound the jobs in flight queue by queue. One call has one length of lease: the first
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
    )


def lease_ms(*, ttr_s: int | None, policy: EffectivePolicy) -> int:
    """How long a hand-out may last: as asked, else the policy's, else taskq's default."""
    if ttr_s is None:
        ttr_s = policy.ttr_s if policy.ttr_s is not None else limits.DEFAULT_TTR_S
    return ttr_s * 1000


def ack_jobs(*, queue: QueueKeys, job_ids: list[str]) -> Operation[tuple[AckOutcome, ...]]:
    """End these jobs, whoever holds them."""
    return ack(queue, job_ids)


def ack_job(
    *,
    queue: QueueKeys,
    job_id: str,
    attempt: int | None = None,
    result: bytes | None = None,
    result_too_large: bool = False,
) -> Operation[Ended]:
    """End a job, keeping `result` if it has retention. Raises LeaseLostError when `attempt` no longer holds it.

    `result_too_large`: there was one, which cannot be kept. Raises ResultTooLargeError if the job has retention.
    """
    return ack_attempt(queue, job_id, attempt=attempt, result=result, result_too_large=result_too_large)


def fail_job(
    *,
    queue: QueueKeys,
    job_id: str,
    attempt: int | None = None,
    error: str = "",
    delay_ms: int | None = None,
    dead: bool = False,
) -> Operation[Failed]:
    """Give a job back as failed. `delay_ms` None: its backoff decides. Raises LeaseLostError, JobNotFoundError."""
    return fail(queue, job_id, attempt=attempt, error=error, delay_ms=delay_ms, dead=dead)


def release_job(*, queue: QueueKeys, job_id: str, attempt: int | None = None, delay_ms: int = 0) -> Operation[None]:
    """Give a job back without burning its try. Raises LeaseLostError, JobNotFoundError."""
    return release(queue, job_id, attempt=attempt, delay_ms=delay_ms)


def extend_lease(
    *, queue: QueueKeys, job_id: str, policy: EffectivePolicy, attempt: int | None = None, ttr_s: int | None = None
) -> Operation[int]:
    """Hold a job for `ttr_s` from now on; answers the new end of the lease, ms. Raises LeaseLostError."""
    return extend(queue, job_id, attempt=attempt, ttr_ms=lease_ms(ttr_s=ttr_s, policy=policy))
