"""What the background roles do: promote, flush groups, reclaim leases, purge, sweep, free what deleted queues held.

Each call is bounded and idempotent. Where some partitions fail (a node of a cluster is away) the others are served
first; then the first error is raised. `lua/destroy.lua` renames a queue's keys, `lua/free_deleted.lua` empties them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import TypeVar

from .. import constants, names
from ..errors import TaskqError
from ..keys import Layout, QueueKeys, deletion_keys, partition_keys
from ..operation import Apart, Argument, Operation, Plan, Reply, clock_argument, expect_ok, paced
from ..scripts import load
from ..values import Counts

T = TypeVar("T")

_DUE_QUEUES = load("due_queues")
_PROMOTE = load("promote")
_RECLAIM = load("reclaim")
_PURGE = load("purge")
_ADVANCE_GROUPS = load("advance_groups")
_SWEEP = load("sweep")


def promote_due(layout: Layout, *, now_ms: int | None = None) -> Plan[Counts]:
    """Move due jobs to ready: up to `limits.DUE_QUEUES_BATCH` queues of each partition, a bounded batch of each.

    Its cost follows the due work, not the number of queues. `more`: call again at once.
    """
    errors: list[TaskqError] = []
    queues = yield from _queues_of_index(layout, "due", now_ms, errors)
    results = yield from _apart([promote(queue, now_ms=now_ms) for queue in queues], errors)
    return _sum(layout, queues, results, errors)


def promote(queue: QueueKeys, *, now_ms: int | None = None) -> Operation[Counts]:
    """One bounded batch of one queue's due jobs."""

    def decode(reply: Reply) -> Counts:
        moved, more = expect_ok(_PROMOTE, reply)
        return Counts(queues=1, jobs=moved, more=bool(more))

    return Operation(
        _PROMOTE,
        queue.select(_PROMOTE.keys),
        (clock_argument(now_ms), queue.name, queue.channel, queue.events_cap, constants.PROMOTE_BATCH),
        decode,
    )


def flush_due(layout: Layout, *, now_ms: int | None = None) -> Plan[Counts]:
    """Visit the queues whose groups have work: a bounded step in each. `jobs`: members that joined, and batches.

    Its cost follows the due work, not the number of queues or groups. `more`: call again at once.
    """
    errors: list[TaskqError] = []
    queues = yield from _queues_of_index(layout, "flushes", now_ms, errors)
    results = yield from _apart([advance_groups(queue, now_ms=now_ms) for queue in queues], errors)
    return _sum(layout, queues, results, errors)


def advance_groups(queue: QueueKeys, *, now_ms: int | None = None) -> Operation[Counts]:
    """One bounded visit to one queue's groups."""

    def decode(reply: Reply) -> Counts:
        batches, joined, more = expect_ok(_ADVANCE_GROUPS, reply)
        return Counts(queues=1, jobs=batches + joined, more=bool(more))

    return Operation(
        _ADVANCE_GROUPS,
        queue.select(_ADVANCE_GROUPS.keys),
        advance_arguments(queue, "", now_ms),
        decode,
        alone=True,
    )


def advance_arguments(queue: QueueKeys, only: str, now_ms: int | None) -> tuple[Argument, ...]:
    """`only`: a group that is flushed whatever it has, or ""."""
    random, counter = names.random_start(constants.GROUP_BATCHES_PER_CALL)
    head = (clock_argument(now_ms), queue.name, queue.channel, queue.events_cap)
    return (*head, random, counter, constants.GROUP_LOOKS, only)


def reclaim_ended(layout: Layout, *, now_ms: int | None = None) -> Plan[Counts]:
    """Take back jobs whose lease ran out, and drop completed jobs whose retention ended; bounded like `promote_due`.

    `dead`: of the jobs taken back, those whose tries were used up. `jobs` counts dropped completed jobs too.
    """
    errors: list[TaskqError] = []
    queues = yield from _queues_of_index(layout, "ends", now_ms, errors)
    steps = [step for queue in queues for step in (purge(queue, now_ms=now_ms), reclaim(queue, now_ms=now_ms))]
    results = yield from _apart(steps, errors)
    return _sum(layout, queues, results, errors)


def reclaim(queue: QueueKeys, *, now_ms: int | None = None) -> Operation[Counts]:
    """One bounded batch of one queue's leases that ran out."""

    def decode(reply: Reply) -> Counts:
        taken_back, dead, more = expect_ok(_RECLAIM, reply)
        return Counts(queues=1, jobs=taken_back, dead=dead, more=bool(more))

    return Operation(
        _RECLAIM,
        queue.select(_RECLAIM.keys),
        (clock_argument(now_ms), queue.name, queue.channel, queue.events_cap, constants.RECLAIM_BATCH),
        decode,
    )


def purge(queue: QueueKeys, *, now_ms: int | None = None) -> Operation[Counts]:
    """One bounded batch of one queue's completed jobs whose retention ended."""

    def decode(reply: Reply) -> Counts:
        dropped, _ = expect_ok(_PURGE, reply)
        return Counts(jobs=dropped)

    return Operation(
        _PURGE,
        queue.select(_PURGE.keys),
        (clock_argument(now_ms), queue.name, queue.events_cap, constants.PURGE_BATCH, constants.FREE_BUDGET_BYTES),
        decode,
    )


def sweep(layout: Layout, *, now_ms: int | None = None) -> Plan[Counts]:
    """Visit a few queues of each partition where something has expired or many tombstones are: a bounded step in each.

    `jobs` counts dropped idempotency keys too. `more`: call again at once.
    """
    errors: list[TaskqError] = []
    queues = yield from _queues_of_index(layout, "sweeps", now_ms, errors, limit=constants.SWEEP_QUEUES_BATCH)
    results: list[Counts] = []
    at_once = constants.SWEEPS_AT_ONCE_MIN
    waiting = queues
    while waiting:
        part, waiting = waiting[:at_once], waiting[at_once:]
        found = yield from _apart([sweep_queue(queue, now_ms=now_ms) for queue in part], errors)
        # A server carries out much of what one connection has sent before it turns to the next.
        is_much = any(counts.more for counts in found)
        at_once = constants.SWEEPS_AT_ONCE_MIN if is_much else min(2 * at_once, constants.SWEEPS_AT_ONCE_MAX)
        results += found
    return _sum(layout, queues, results, errors, limit=constants.SWEEP_QUEUES_BATCH)


def sweep_queue(queue: QueueKeys, *, now_ms: int | None = None) -> Operation[Counts]:
    """One bounded step in one queue."""

    def decode(reply: Reply) -> Counts:
        expired, keys, more = expect_ok(_SWEEP, reply)
        return Counts(queues=1, jobs=expired + keys, more=bool(more))

    args = (clock_argument(now_ms), queue.name, queue.events_cap, constants.SWEEP_EXPIRE_BATCH, constants.SWEEP_LOOKS)
    return Operation(_SWEEP, queue.select(_SWEEP.keys), args, decode)


def _queues_of_index(
    layout: Layout,
    index: str,
    now_ms: int | None,
    errors: list[TaskqError],
    *,
    limit: int = constants.DUE_QUEUES_BATCH,
) -> Plan[list[QueueKeys]]:
    def decode(reply: Reply) -> list[QueueKeys]:
        return [layout.named(name) for name in expect_ok(_DUE_QUEUES, reply)]

    asked = [
        Operation(
            _DUE_QUEUES,
            (partition_keys(partition)[index],),
            (clock_argument(now_ms), limit),
            decode,
        )
        for partition in range(layout.partitions)
    ]
    lists = yield from _apart(asked, errors)
    return [queue for queues in lists for queue in queues]


def _apart(operations: Sequence[Operation[T]], errors: list[TaskqError]) -> Plan[list[T]]:
    """Results of the operations that succeed, so that one partition in trouble does not stop the others.

    The errors of the rest are added to `errors`, to be raised when everything else is done.
    """
    if not operations:
        return []
    results = yield Apart(operations)
    errors += [result for result in results if isinstance(result, TaskqError)]
    return [result for result in results if not isinstance(result, TaskqError)]


def _raise_first(errors: list[TaskqError]) -> None:
    if errors:
        raise errors[0]


def _sum(
    layout: Layout,
    queues: list[QueueKeys],
    results: list[Counts],
    errors: list[TaskqError],
    *,
    limit: int = constants.DUE_QUEUES_BATCH,
) -> Counts:
    _raise_first(errors)
    per_partition = [0] * layout.partitions
    for queue in queues:
        per_partition[queue.partition] += 1
    full = max(per_partition) >= limit
    return reduce(add, results, Counts(more=full))


_FIND = load("find_deletions")
_FREE = load("free_deleted")


def free_deleted(layout: Layout) -> Plan[Counts]:
    """Free a bounded part of up to `limits.DELETIONS_BATCH` deletions of each partition. `more`: call again at once.

    Where some partitions fail (a node of a cluster is away) the others come first; then the first error is raised.
    """
    errors: list[TaskqError] = []
    total = Counts()
    found = yield Apart([_find(partition) for partition in range(layout.partitions)])
    for partition, deletion_ids in enumerate(found):
        if isinstance(deletion_ids, TaskqError):
            errors.append(deletion_ids)
            continue
        for deletion_id in deletion_ids:
            try:
                (counts,) = yield paced(_free(partition, deletion_id), jobs=constants.DELETE_BATCH)
            except TaskqError as error:
                errors.append(error)
                break
            total += counts
    if errors:
        raise errors[0]
    return total


def _find(partition: int) -> Operation[list[str]]:
    return Operation(
        _FIND,
        (partition_keys(partition)["deletions"],),
        (constants.DELETIONS_BATCH,),
        lambda reply: [str(deletion_id, "ascii") for deletion_id in expect_ok(_FIND, reply)],
    )


def _free(partition: int, deletion_id: str) -> Operation[Counts]:
    def decode(reply: list[bytes | int]) -> Counts:
        freed, more = expect_ok(_FREE, reply)
        return Counts(queues=1, jobs=freed, more=bool(more))

    keys = deletion_keys(partition, deletion_id)
    args = (deletion_id, constants.DELETE_BATCH, constants.FREE_BUDGET_BYTES)
    return Operation(_FREE, tuple(keys[name] for name in _FREE.keys), args, decode)
