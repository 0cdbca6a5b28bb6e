"""What a consumer does with a job it holds: ack, fail, release, extend."""

from __future__ import annotations

from queues.engine import ack, ack_attempt, extend, fail, release
from queues.engine.keys import QueueKeys
from queues.engine.operation import Operation
from queues.engine.values import AckOutcome, Ended, Failed

from .jobs_consume import lease_ms
from .policies import EffectivePolicy


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
