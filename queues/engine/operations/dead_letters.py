"""Dead letters: look, respawn (edge L), delete, keep within bounds; read in stretches, with what they died of.

`lua/respawn.lua` respawns them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from .. import constants
from ..errors import InvalidArgumentError
from ..keys import QueueKeys
from ..operation import Operation, Plan, Reply, clock_argument, expect_ok, in_pages, paced
from ..queue_values import DeadHead
from ..scripts import load
from ..values import Counts, JobState
from .jobs import delete_jobs

_HEAD = load("dead_head")
_RESPAWN = load("respawn")
_DELETE = load("delete_dead")
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
    if not 0 <= ttl_ms <= constants.SECONDS_MAX * 1000:
        raise InvalidArgumentError("invalid ttl")
    respawned = 0
    for batch_limit, batch_ids in _batches(limit, ids, constants.RESPAWN_BATCH):
        args = (
            clock_argument(now_ms),
            queue.name,
            queue.channel,
            queue.events_cap,
            ttl_ms,
            batch_limit,
            *batch_ids,
        )
        operation = Operation(_RESPAWN, queue.select(_RESPAWN.keys), args, _pair(_RESPAWN))
        ((count, left),) = yield paced(operation, jobs=batch_limit or len(batch_ids))
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
    """Delete dead letters: the oldest `limit`, or those in `ids`. Their number. Ids that are not dead stay.

    Runs in bounded batches, so another may see part of it done.
    """
    deleted = 0
    for batch_limit, batch_ids in _batches(limit, ids, constants.DELETE_BATCH):
        if batch_limit:
            count, left = yield from _delete_oldest(queue, batch_limit, now_ms)
            deleted += count
            if left == 0:
                break
        else:
            deleted += yield from delete_jobs(queue, batch_ids, only=JobState.DEAD, now_ms=now_ms)
    return deleted


def _delete_oldest(queue: QueueKeys, limit: int, now_ms: int | None) -> Plan[tuple[int, int]]:
    """How many were deleted and how many remain. Of huge jobs one call deletes fewer than asked for."""
    deleted, left = 0, 1
    while deleted < limit and left > 0:
        most = limit - deleted
        args = (clock_argument(now_ms), queue.name, queue.events_cap, most, constants.FREE_BUDGET_BYTES)
        operation = Operation(_DELETE, queue.select(_DELETE.keys), args, _pair(_DELETE))
        ((count, left),) = yield paced(operation, jobs=most)
        deleted += count
    return deleted, left


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
        constants.DELETE_BATCH,
        constants.FREE_BUDGET_BYTES,
    )
    return Operation(_TRIM, queue.select(_TRIM.keys), args, decode)


def _batches(limit: int | None, ids: Sequence[str] | None, size: int) -> Any:
    """Pairs (limit, ids) of at most `size` jobs; exactly one of the two is given."""
    if (limit is None) == (ids is None):
        raise InvalidArgumentError("give either limit or ids")
    if ids is not None:
        for part in in_pages(ids, size):
            yield 0, part
        return
    left = limit or 0
    if left < 1:
        raise InvalidArgumentError("invalid limit")
    while left > 0:
        yield min(left, size), ()
        left -= size


def _pair(script: Any) -> Any:
    def decode(reply: Reply) -> tuple[int, int]:
        first, second = expect_ok(script, reply)
        return first, second

    return decode


DEAD_SCAN_BATCH: Final = 500
"""Dead letters that one call looks at."""

_SCAN = load("dead_scan")
_CURSOR = re.compile(r"(?P<score>[0-9]{1,16}):(?P<id>[0-9A-Z]{26})\Z")
_OUTCOMES: Final = {0: "", 1: "failed", 2: "lease_lost"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadJob:
    """A dead letter and its last attempt. `outcome`: failed, lease_lost, or "" when nothing is known of it."""

    job_id: str
    died_ms: int
    attempt: int
    outcome: str
    consumer: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadPage:
    """Some dead letters, newest first. `left`: how many follow in the span; `after`: the cursor, None at the end."""

    jobs: tuple[DeadJob, ...]
    after: str | None
    left: int
    now_ms: int


def scan_dead(
    queue: QueueKeys,
    *,
    since_ms: int = 0,
    before_ms: int | None = None,
    after: str | None = None,
    limit: int = DEAD_SCAN_BATCH,
    now_ms: int | None = None,
) -> Operation[DeadPage]:
    """The next `limit` of those that died from `since_ms` on and before `before_ms`; with 0 only their number, `left`.

    Fewer where much is remembered of their attempts: only `after` None in the answer means the end.
    The argument `after` is the cursor of the page before. Raises InvalidArgumentError.
    """
    if not 0 <= limit <= DEAD_SCAN_BATCH:
        raise InvalidArgumentError("invalid limit")
    score, job_id = parse_dead_cursor(after)

    def decode(reply: Reply) -> DeadPage:
        now, left, *found = expect_ok(_SCAN, reply)
        jobs = tuple([_dead_job(fields) for fields in found])
        last = f"{jobs[-1].died_ms}:{jobs[-1].job_id}" if jobs else after
        return DeadPage(jobs=jobs, after=last if left else None, left=left, now_ms=now)

    before = "" if before_ms is None else before_ms
    args = (clock_argument(now_ms), since_ms, before, score, job_id, limit, constants.DEAD_SCAN_BUDGET_BYTES)
    return Operation(_SCAN, queue.select(_SCAN.keys), args, decode)


def parse_dead_cursor(after: str | None) -> tuple[str, str]:
    """Time of death and id of the last job that was seen; two empty texts for None. Raises InvalidArgumentError."""
    if not after:
        return "", ""
    found = _CURSOR.match(after)
    if found is None:
        raise InvalidArgumentError("invalid after")
    return found["score"], found["id"]


def _dead_job(fields: list[bytes | int]) -> DeadJob:
    raw_id, died, attempt, outcome, consumer, error = fields
    return DeadJob(
        job_id=_text(raw_id),
        died_ms=int(died),
        attempt=int(attempt),
        outcome=_OUTCOMES.get(int(outcome), ""),
        consumer=_text(consumer),
        error=_text(error),
    )


def _text(raw: bytes | int) -> str:
    return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
