"""Whole queues: list, pause, resume, empty, destroy."""

from __future__ import annotations

import heapq
import secrets

from .. import constants
from ..errors import InvalidArgumentError, QueueNotFoundError
from ..keys import Layout, QueueKeys, deletion_keys, partition_keys
from ..operation import Operation, Plan, Reply, clock_argument, expect_ok, paced
from ..queue_values import QueuePage
from ..scripts import load

_LIST = load("list_queues")
_PAUSE = load("pause")
_DESTROY = load("destroy")
_DRAIN = load("drain_ready")


def list_queues(layout: Layout, namespace: str, *, after: str | None = None, limit: int = 100) -> Plan[QueuePage]:
    """A page of the namespace's queues in name order: those that hold a job or an idempotency key, or are paused."""
    if not 1 <= limit <= constants.PAGE_MAX:
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


def pause(queue: QueueKeys, *, must_exist: bool = False, now_ms: int | None = None) -> Operation[bool]:
    """Make a queue deliver nothing; publishes go on. Whether it was not paused before.

    With `must_exist` raises QueueNotFoundError, and changes nothing, if the queue holds no job and no idempotency key,
    was not used in the last ten minutes, and no consumer waits on it.
    """
    return _set_paused(queue, True, now_ms, must_exist=must_exist)


def resume(queue: QueueKeys, *, now_ms: int | None = None) -> Operation[bool]:
    """Let a queue deliver again, and wake waiting consumers. Whether it was paused before."""
    return _set_paused(queue, False, now_ms)


def _set_paused(queue: QueueKeys, paused: bool, now_ms: int | None, *, must_exist: bool = False) -> Operation[bool]:
    def decode(reply: Reply) -> bool:
        if reply[0] == b"missing":
            raise QueueNotFoundError(queue.queue)
        return bool(expect_ok(_PAUSE, reply)[0])

    args = (clock_argument(now_ms), queue.name, queue.channel, int(paused), int(must_exist))
    return Operation(_PAUSE, queue.select(_PAUSE.keys), args, decode)


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

    args = (clock_argument(now_ms), queue.name, queue.events_cap, constants.DELETE_BATCH, constants.FREE_BUDGET_BYTES)
    operation = Operation(_DRAIN, queue.select(_DRAIN.keys), args, decode)
    total = 0
    to_visit: int | None = None
    while to_visit is None or to_visit > 0:
        ((count, removed, left),) = yield paced(operation, jobs=constants.DELETE_BATCH)
        total += count
        to_visit = min(left, left if to_visit is None else to_visit - removed)
    return total
