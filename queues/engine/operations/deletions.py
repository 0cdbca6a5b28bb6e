"""Frees what deleted queues held, a small part at a time (lua/destroy.lua renames their keys, lua/free_deleted.lua)."""

from __future__ import annotations

from .. import limits
from ..errors import TaskqError
from ..keys import Layout, deletion_keys, partition_keys
from ..operation import Apart, Operation, Plan, paced
from ..reply import expect_ok
from ..scripts import load
from ..values import Counts

_FIND = load("find_deletions")
_FREE = load("free_deleted")


def free_deleted(layout: Layout) -> Plan[Counts]:
    """Free a bounded part of up to `limits.DELETIONS_BATCH` deletions of each partition. `more`: call again at once.

    Where some partitions fail (a node of a cluster is away) the others come first; then the first error is raised.
    """
    errors: list[TaskqError] = []
    total = Counts()
    found = yield Apart([_find(partition) for partition in range(layout.partitions)])
    for partition, ids in enumerate(found):
        if isinstance(ids, TaskqError):
            errors.append(ids)
            continue
        for deletion_id in ids:
            try:
                (counts,) = yield paced(_free(partition, deletion_id), jobs=limits.DELETE_BATCH)
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
        (limits.DELETIONS_BATCH,),
        lambda reply: [str(deletion_id, "ascii") for deletion_id in expect_ok(_FIND, reply)],
    )


def _free(partition: int, deletion_id: str) -> Operation[Counts]:
    def decode(reply: list[bytes | int]) -> Counts:
        freed, more = expect_ok(_FREE, reply)
        return Counts(queues=1, jobs=freed, more=bool(more))

    keys = deletion_keys(partition, deletion_id)
    args = (deletion_id, limits.DELETE_BATCH, limits.FREE_BUDGET_BYTES)
    return Operation(_FREE, tuple(keys[name] for name in _FREE.keys), args, decode)
