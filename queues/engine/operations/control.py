"""Whole queues: list, pause, resume, empty, destroy; and jobs by their ids: delete (edge M), reschedule (edge Q)."""

from __future__ import annotations

import heapq
import secrets
from collections.abc import Sequence

from .. import limits
from ..errors import InvalidArgumentError
from ..keys import Layout, QueueKeys, deletion_keys, partition_keys
from ..operation import Operation, Plan, Reply, paced
from ..queue_values import QueuePage
from ..reply import clock_argument, expect_ok
from ..scripts import load
from ..values import Rescheduled

_LIST = load("list_queues")
_PAUSE = load("pause")
_DESTROY = load("destroy")
_DRAIN = load("drain_ready")
_DELETE = load("delete")
_RESCHEDULE = load("reschedule")
_MAX_MS = limits.SECONDS_MAX * 1000


def list_queues(layout: Layout, namespace: str, *, after: str | None = None, limit: int = 100) -> Plan[QueuePage]:
    """A page of the namespace's queues in name order: those that hold a job or an idempotency key, or are paused."""
    if not 1 <= limit <= limits.PAGE_MAX:
        raise InvalidArgumentError("invalid limit")
    prefix = f"{namespace}/"
    low = f"({prefix}{after}" if after else f"[{prefix}"
    high = f"({namespace}0"  # "0" follows "/" in ASCII

    def decode(reply: Reply) -> list[str]:
        return [str(name, "ascii").removeprefix(prefix) for name in expect_ok(_LIST, reply)]

    lists = yield [
        Operation(_LIST, (partition_keys(partition)["queues"],), (low, high, limit + 1), decode)
        for partition in range(layout.partitions)
    ]
    names = tuple(heapq.nsmallest(limit + 1, heapq.merge(*lists)))
    return QueuePage(names=names[:limit], after=names[limit - 1] if len(names) > limit else None)


def pause(queue: QueueKeys, *, now_ms: int | None = None) -> Operation[bool]:
    """Make a queue deliver nothing; publishes go on. Whether it was not paused before."""
    return _set_paused(queue, True, now_ms)


def resume(queue: QueueKeys, *, now_ms: int | None = None) -> Operation[bool]:
    """Let a queue deliver again, and wake waiting consumers. Whether it was paused before."""
    return _set_paused(queue, False, now_ms)


def _set_paused(queue: QueueKeys, paused: bool, now_ms: int | None) -> Operation[bool]:
    args = (clock_argument(now_ms), queue.name, queue.channel, 1 if paused else 0)
    return Operation(_PAUSE, queue.select(_PAUSE.keys), args, lambda reply: bool(expect_ok(_PAUSE, reply)[0]))


def destroy(queue: QueueKeys, *, everything: bool = False, now_ms: int | None = None) -> Plan[int]:
    """Delete the queue's ready jobs, in bounded batches, or with `everything` its jobs in every state. Their number.

    Jobs that are published meanwhile may stay: batches stop after as many entries as there were at the beginning.
    """
    if everything:
        deletion_id = secrets.token_hex(8)
        deleted = deletion_keys(queue.partition, deletion_id)
        operation = Operation(
            _DESTROY,
            tuple(deleted.get(name, own) for name, own in zip(_DESTROY.keys, queue.select(_DESTROY.keys), strict=True)),
            (clock_argument(now_ms), queue.name, queue.events_cap, deletion_id),
            lambda reply: int(expect_ok(_DESTROY, reply)[0]),
        )
        (count,) = yield [operation]
        return int(count)
    return (yield from _delete_ready(queue, now_ms))


def _delete_ready(queue: QueueKeys, now_ms: int | None) -> Plan[int]:
    def decode(reply: Reply) -> tuple[int, int, int]:
        count, removed, left = expect_ok(_DRAIN, reply)
        return count, removed, left

    args = (clock_argument(now_ms), queue.name, queue.events_cap, limits.DELETE_BATCH, limits.FREE_BUDGET_BYTES)
    operation = Operation(_DRAIN, queue.select(_DRAIN.keys), args, decode)
    total = 0
    to_visit: int | None = None
    while to_visit is None or to_visit > 0:
        ((count, removed, left),) = yield paced(operation, jobs=limits.DELETE_BATCH)
        total += count
        to_visit = min(left, left if to_visit is None else to_visit - removed)
    return total


def delete_jobs(queue: QueueKeys, job_ids: Sequence[str], *, only: str = "", now_ms: int | None = None) -> Plan[int]:
    """Delete jobs in any state, or only those in the state `only`. Number of jobs deleted; unknown ids are no error.

    Runs in bounded batches, so another may see part of it done.
    """
    if not 1 <= len(job_ids) <= limits.BULK_MAX_JOBS:
        raise InvalidArgumentError("invalid job ids")
    total = seen = 0
    while seen < len(job_ids):
        batch = job_ids[seen : seen + limits.DELETE_BATCH]
        args = (clock_argument(now_ms), queue.name, queue.events_cap, only, limits.FREE_BUDGET_BYTES, *batch)
        operation = Operation(_DELETE, queue.select(_DELETE.keys), args, lambda reply: tuple(expect_ok(_DELETE, reply)))
        ((count, came_to),) = yield paced(operation, jobs=len(batch))
        total += count
        seen += came_to
    return total


def reschedule(
    queue: QueueKeys,
    job_ids: Sequence[str],
    *,
    at_ms: int | None = None,
    delay_ms: int = 0,
    now_ms: int | None = None,
) -> Plan[tuple[Rescheduled, ...]]:
    """Make delayed and retried jobs due at `at_ms`, or `delay_ms` from now; a time that has come makes them ready.

    They stay delayed or in retry otherwise. Outcomes come in the order of `job_ids`. Runs in bounded batches, so
    another may see part of it done.
    """
    if not 0 <= delay_ms <= _MAX_MS:
        raise InvalidArgumentError("invalid delay")
    if at_ms is not None and (delay_ms or not 0 <= at_ms <= 2 * _MAX_MS):
        raise InvalidArgumentError("invalid at")
    if not 1 <= len(job_ids) <= limits.BULK_MAX_JOBS:
        raise InvalidArgumentError("invalid job ids")
    outcomes: list[Rescheduled] = []
    head = (clock_argument(now_ms), queue.name, queue.channel, queue.events_cap, "" if at_ms is None else at_ms)
    while len(outcomes) < len(job_ids):
        batch = job_ids[len(outcomes) : len(outcomes) + limits.RESCHEDULE_BATCH]
        args = (*head, delay_ms, limits.READ_BUDGET_BYTES, *batch)
        (found,) = yield paced(Operation(_RESCHEDULE, queue.select(_RESCHEDULE.keys), args, _outcomes), jobs=len(batch))
        outcomes += found
    return tuple(outcomes)


def _outcomes(reply: Reply) -> list[Rescheduled]:
    return [Rescheduled(str(word, "ascii")) for word in expect_ok(_RESCHEDULE, reply)]
