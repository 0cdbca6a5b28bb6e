"""Delivering jobs, and extending their leases: what the queue's policy says for what the caller left open."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from queues.engine import AsyncEngine, extend, limits
from queues.engine.keys import QueueKeys
from queues.engine.operation import Operation
from queues.engine.values import Consumed, RequestLimit

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
        ttr_s = policy.ttr_s if policy.ttr_s is not None else limits.DEFAULT_TTR_S
    return ttr_s * 1000


def extend_lease(
    *, queue: QueueKeys, job_id: str, policy: EffectivePolicy, attempt: int | None = None, ttr_s: int | None = None
) -> Operation[int]:
    """Hold a job for `ttr_s` from now on; answers the new end of the lease, ms. Raises LeaseLostError."""
    return extend(queue, job_id, attempt=attempt, ttr_ms=lease_ms(ttr_s=ttr_s, policy=policy))
