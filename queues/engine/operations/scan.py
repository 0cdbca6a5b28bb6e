"""Looks for jobs: in one state of a queue, a bounded stretch at a time; and, by id, in all queues.

Ids do not say where jobs are, so queues are asked one after another, within bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from .. import constants
from ..errors import InvalidArgumentError
from ..keys import Layout, QueueKeys, partition_keys
from ..names import is_job_id
from ..operation import Operation, Plan, Reply, clock_argument, expect_ok, unexpected
from ..record import unpack_record
from ..scripts import load
from ..values import JobDetail, JobFilter, JobState, Scan
from .inspect import cursor_argument, detail_of

_SCAN = load("scan_jobs")


def scan_jobs(
    queue: QueueKeys,
    state: JobState,
    wanted: JobFilter,
    *,
    after: str | None = None,
    limit: int = 50,
    looks: int = constants.SCAN_LOOKS,
    latest_first: bool = False,
    now_ms: int | None = None,
) -> Operation[Scan]:
    """Up to `limit` jobs in `state` that match, of the next `looks`; bodies are cut as in a listing.

    In order, or (`latest_first`) in the opposite one.

    `after` is the cursor of the stretch before. A stretch may be shorter, even without a match, though more follow:
    only `after` None means the end. Raises InvalidArgumentError.
    """
    if not 1 <= limit <= constants.PAGE_MAX:
        raise InvalidArgumentError("invalid limit")
    if not 1 <= looks <= constants.SCAN_LOOKS:
        raise InvalidArgumentError("invalid looks")
    name, is_named, value = wanted.attribute.partition("=")
    texts = (wanted.job_id, wanted.key, *((name, value) if is_named else ("", name)), wanted.error, wanted.body)
    parts = [text.encode("utf-8", "replace") for text in texts]
    if any(len(part) > constants.SCAN_TEXT_MAX_BYTES for part in parts):
        raise InvalidArgumentError("filter text too long")
    body = parts[-1].lower()

    def decode(reply: Reply) -> Scan:
        if reply[0] != b"page":
            raise unexpected(_SCAN, reply)
        _, now, cursor, looked_at, size, *found = reply
        jobs: list[JobDetail] = []
        for *fields, is_match, before, looked_before in found:
            job = detail_of(queue, now, fields)
            if not is_match:
                if body not in unpack_record(fields[3]).stored_body.lower():  # of a batch, not what is shown of it
                    continue
                job = replace(job, body=job.body[: constants.PREVIEW_BYTES])
            if len(jobs) == limit:
                cursor, looked_at = before, looked_before
                break
            jobs.append(job)
        return Scan(jobs=tuple(jobs), after=str(cursor, "ascii") or None, looked_at=looked_at, size=size)

    args = (
        clock_argument(now_ms),
        queue.name,
        state.value,
        cursor_argument(after),
        limit,
        looks,
        constants.PREVIEW_BYTES,
        constants.SCAN_BUDGET_BYTES,
        *parts,
        constants.SCAN_MATCH_MAX_BYTES,
        "1" if latest_first else "",
    )
    return Operation(_SCAN, queue.select(_SCAN.keys), args, decode)


_HAS = load("has_job")
_FIND_KEY = load("find_key")
_LIST = load("list_queues")
_STRETCHES_AT_ONCE: Final = 128
_QUEUES_AT_ONCE: Final = 500
"""In one round trip: stretches of the registries (a namespace in a partition) that are read, queues that are asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSearch:
    """The outcome of `find_job`. `queue`: None if the job was not found. `looked_at`: number of queues that were asked.
    `complete`: there were no more to ask."""

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
    if not 1 <= len(raw) <= constants.KEY_MAX_BYTES:
        raise InvalidArgumentError("invalid key")

    def decode(reply: Reply) -> str | None:
        return str(expect_ok(_FIND_KEY, reply)[0], "ascii") or None

    return Operation(_FIND_KEY, queue.select(_FIND_KEY.keys), (raw,), decode)


def find_job(layout: Layout, namespaces: Sequence[str] | None, job_id: str, *, most: int) -> Plan[JobSearch]:
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
            if len(page) == constants.PAGE_MAX
        ]
        waiting = rest + waiting
        queues = [layout.named(name) for page in pages for name in page]
        while queues:
            room = min(_QUEUES_AT_ONCE, most - asked)
            if room <= 0:
                return JobSearch(queue=None, looked_at=looked_at, complete=False)
            some, queues = queues[:room], queues[room:]
            answers: list[bool] = yield [has_job(queue, job_id) for queue in some]
            looked_at += len(some)
            asked += len(some)
            for queue, is_here in zip(some, answers, strict=True):
                if is_here:
                    return JobSearch(queue=queue, looked_at=looked_at, complete=True)
    return JobSearch(queue=None, looked_at=looked_at, complete=not waiting)


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
    return Operation(_LIST, keys, (stretch.low, stretch.high, constants.PAGE_MAX), decode)
