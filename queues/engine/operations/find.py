"""From a job's id to its queue. Ids do not say where jobs are, so queues are asked one after another, within bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .. import limits
from ..errors import InvalidArgumentError
from ..ids import is_job_id
from ..keys import Layout, QueueKeys, partition_keys
from ..operation import Operation, Plan, Reply
from ..reply import expect_ok
from ..scripts import load

_HAS = load("has_job")
_FIND_KEY = load("find_key")
_LIST = load("list_queues")
_STRETCHES_AT_ONCE: Final = 128
_QUEUES_AT_ONCE: Final = 500
"""In one round trip: stretches of the registries (a namespace in a partition) that are read, queues that are asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlace:
    """`queue`: None if the job was not found. `looked_at`: queues asked. `complete`: there were no more to ask."""

    queue: QueueKeys | None
    looked_at: int
    complete: bool


@dataclass(frozen=True, slots=True)
class _Stretch:
    partition: int
    low: bytes
    high: bytes


def has_job(queue: QueueKeys, job_id: str) -> Operation[bool]:
    """Whether the queue has the job, in any state."""
    return Operation(_HAS, queue.select(_HAS.keys), (job_id,), lambda reply: bool(expect_ok(_HAS, reply)[0]))


def find_key(queue: QueueKeys, key: str) -> Operation[str | None]:
    """The id of the job that was published with this idempotency key last, in any state; None if there is none.

    A key with a `key_mode` other than `window` leads to its job for as long as the job exists. Raises
    InvalidArgumentError for a key that is empty or too long.
    """
    raw = key.encode("utf-8", "replace")
    if not 1 <= len(raw) <= limits.KEY_MAX_BYTES:
        raise InvalidArgumentError("invalid key")

    def decode(reply: Reply) -> str | None:
        return str(expect_ok(_FIND_KEY, reply)[0], "ascii") or None

    return Operation(_FIND_KEY, queue.select(_FIND_KEY.keys), (raw,), decode)


def find_job(layout: Layout, namespaces: Sequence[str] | None, job_id: str, *, most: int) -> Plan[JobPlace]:
    """Where in `namespaces` (None: anywhere) a job is, asking at most about `most` queues and stretches of registries.

    A round trip for each 128 stretches and for each 500 queues. A job that is published meanwhile may be missed.
    """
    if not is_job_id(job_id):
        raise InvalidArgumentError("invalid job id")
    waiting = _stretches(layout, namespaces)
    looked_at = asked = 0
    while waiting and asked < most:
        now, waiting = waiting[:_STRETCHES_AT_ONCE], waiting[_STRETCHES_AT_ONCE:]
        pages: list[list[bytes]] = yield [_list(stretch) for stretch in now]
        asked += len(now)
        rest = [
            _Stretch(one.partition, b"(" + page[-1], one.high)
            for one, page in zip(now, pages, strict=True)
            if len(page) == limits.PAGE_MAX
        ]
        waiting = rest + waiting
        queues = [layout.named(name) for page in pages for name in page]
        while queues:
            room = min(_QUEUES_AT_ONCE, most - asked)
            if room <= 0:
                return JobPlace(queue=None, looked_at=looked_at, complete=False)
            some, queues = queues[:room], queues[room:]
            answers: list[bool] = yield [has_job(queue, job_id) for queue in some]
            looked_at += len(some)
            asked += len(some)
            for queue, is_here in zip(some, answers, strict=True):
                if is_here:
                    return JobPlace(queue=queue, looked_at=looked_at, complete=True)
    return JobPlace(queue=None, looked_at=looked_at, complete=not waiting)


def _stretches(layout: Layout, namespaces: Sequence[str] | None) -> list[_Stretch]:
    """Each namespace's part of each partition's registry, which is in order of `namespace/queue`."""
    ranges = [(b"-", b"+")] if namespaces is None else [_range(name) for name in namespaces]
    return [_Stretch(partition, low, high) for low, high in ranges for partition in range(layout.partitions)]


def _range(namespace: str) -> tuple[bytes, bytes]:
    name = namespace.encode("ascii")
    return b"[" + name + b"/", b"(" + name + b"0"  # "0" follows "/" in ASCII


def _list(stretch: _Stretch) -> Operation[list[bytes]]:
    def decode(reply: Reply) -> list[bytes]:
        return list(expect_ok(_LIST, reply))

    keys = (partition_keys(stretch.partition)["queues"],)
    return Operation(_LIST, keys, (stretch.low, stretch.high, limits.PAGE_MAX), decode)
