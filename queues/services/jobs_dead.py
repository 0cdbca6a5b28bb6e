"""Dead letters: look, respawn, delete."""

from __future__ import annotations

from collections.abc import Sequence

from queues.engine import DeadHead, dead_head, delete_dead, respawn
from queues.engine.keys import QueueKeys
from queues.engine.operation import Operation, Plan


def peek_dead(*, queue: QueueKeys) -> Operation[DeadHead]:
    """How many dead jobs there are, and the oldest."""
    return dead_head(queue)


def respawn_dead(
    *, queue: QueueKeys, ttl_s: int, limit: int | None = None, job_ids: Sequence[str] | None = None
) -> Plan[int]:
    """Make dead jobs ready with one more try and a new ttl: the `limit` oldest, or those named. Answers how many."""
    return respawn(queue, limit=limit, ids=job_ids, ttl_ms=ttl_s * 1000)


def delete_dead_jobs(*, queue: QueueKeys, limit: int | None = None, job_ids: Sequence[str] | None = None) -> Plan[int]:
    """Delete the `limit` oldest dead jobs, or those named. Answers how many."""
    return delete_dead(queue, limit=limit, ids=job_ids)
