"""Dead letters: look, respawn (edge L), delete, keep within bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import limits
from ..errors import InvalidArgumentError
from ..keys import QueueKeys
from ..operation import Operation, Plan, Reply
from ..scripts import load
from ..values import Counts, DeadHead, JobState
from .control import delete_jobs
from .inspect import list_jobs
from .reply import clock_argument, expect_ok

_HEAD = load("dead_head")
_RESPAWN = load("respawn")
_TRIM = load("trim_dead")


def dead_head(queue: QueueKeys) -> Operation[DeadHead]:
    """Number of dead letters, and the oldest."""

    def decode(reply: Reply) -> DeadHead:
        size, job_id = expect_ok(_HEAD, reply)
        return DeadHead(size=size, job_id=str(job_id, "ascii"))

    return Operation(_HEAD, queue.select(_HEAD.keys), (), decode)


def respawn(
    queue: QueueKeys,
    *,
    ttl_ms: int,
    limit: int | None = None,
    ids: Sequence[str] | None = None,
    now_ms: int | None = None,
) -> Plan[int]:
    """Make dead letters ready again, with one more try and a new ttl: the oldest `limit`, or `ids`. Their number.

    Runs in bounded batches, so another may see part of it done.
    """
    if not 0 <= ttl_ms <= limits.SECONDS_MAX * 1000:
        raise InvalidArgumentError("invalid ttl")
    respawned = 0
    for batch_limit, batch_ids in _batches(limit, ids):
        args = (
            clock_argument(now_ms),
            queue.name,
            queue.channel,
            queue.events_cap,
            ttl_ms,
            batch_limit,
            *batch_ids,
        )
        ((count, left),) = yield [Operation(_RESPAWN, queue.select(_RESPAWN.keys), args, _pair(_RESPAWN))]
        respawned += count
        if left == 0:
            break
    return respawned


def delete_dead(
    queue: QueueKeys,
    *,
    limit: int | None = None,
    ids: Sequence[str] | None = None,
    now_ms: int | None = None,
) -> Plan[int]:
    """Delete dead letters: the oldest `limit`, or those in `ids`. Their number. Ids that are not dead stay."""
    deleted = 0
    for batch_limit, batch_ids in _batches(limit, ids):
        if batch_limit:
            count = yield from _delete_oldest_dead(queue, batch_limit, now_ms)
            deleted += count
            if count < batch_limit:
                break
        else:
            (count,) = yield [delete_jobs(queue, batch_ids, only=JobState.DEAD, now_ms=now_ms)]
            deleted += count
    return deleted


def _delete_oldest_dead(queue: QueueKeys, limit: int, now_ms: int | None) -> Plan[int]:
    """Page by page: one of huge jobs is shorter than asked for."""
    deleted = 0
    while deleted < limit:
        (page,) = yield [list_jobs(queue, JobState.DEAD, limit=limit - deleted, now_ms=now_ms)]
        if not page.jobs:
            break
        chosen = [job.job_id for job in page.jobs]
        (count,) = yield [delete_jobs(queue, chosen, only=JobState.DEAD, now_ms=now_ms)]
        deleted += count
    return deleted


def trim_dead(
    queue: QueueKeys, *, max_age_ms: int | None, max_count: int | None, now_ms: int | None = None
) -> Operation[Counts]:
    """Drop dead letters older than `max_age_ms` or beyond `max_count` (None: no bound), oldest first, one batch."""

    def decode(reply: Reply) -> Counts:
        by_age, by_count, more = expect_ok(_TRIM, reply)
        return Counts(queues=1, jobs=by_age + by_count, more=bool(more))

    args = (
        clock_argument(now_ms),
        queue.name,
        queue.events_cap,
        "" if max_age_ms is None else max_age_ms,
        "" if max_count is None else max_count,
        limits.DELETE_BATCH,
    )
    return Operation(_TRIM, queue.select(_TRIM.keys), args, decode)


def _batches(limit: int | None, ids: Sequence[str] | None) -> Any:
    """Pairs (limit, ids) of bounded size; exactly one of the two is given."""
    if (limit is None) == (ids is None):
        raise InvalidArgumentError("give either limit or ids")
    if ids is not None:
        for start in range(0, len(ids), limits.DELETE_BATCH):
            yield 0, ids[start : start + limits.DELETE_BATCH]
        return
    left = limit or 0
    if left < 1:
        raise InvalidArgumentError("invalid limit")
    while left > 0:
        yield min(left, limits.DELETE_BATCH), ()
        left -= limits.DELETE_BATCH


def _pair(script: Any) -> Any:
    def decode(reply: Reply) -> tuple[int, int]:
        first, second = expect_ok(script, reply)
        return first, second

    return decode
