"""Groups that fill, and the batches that they become (`lua/lib/groups.lua`)."""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import dataclass, replace

from .. import constants
from ..errors import InvalidArgumentError
from ..keys import QueueKeys
from ..names import ID_LENGTH, published_ms
from ..operation import Operation, Plan, Reply, clock_argument, expect_ok
from ..queue_values import Flushed, GroupFilling, GroupPage
from ..scripts import load
from ..values import JobDetail, JobResult
from .inspect import detail, result
from .maintain import advance_arguments
from .publish import check_group

_ADVANCE = load("advance_groups")
_LIST = load("list_groups")
_FIND = load("find_batch")
_FIRST_MAX = 10_000_000
_LOOKS = 1_000
"""Members that one page of groups looks at, to count those that are still there."""


def flush_group(queue: QueueKeys, group: str, *, now_ms: int | None = None) -> Operation[Flushed]:
    """Flush a group now, whatever it has. `more`: it had more than one call flushes. Raises InvalidArgumentError."""
    check_group(group)

    def decode(reply: Reply) -> Flushed:
        batches, members, more = expect_ok(_ADVANCE, reply)
        return Flushed(batches=batches, members=members, more=bool(more))

    return Operation(_ADVANCE, queue.select(_ADVANCE.keys), advance_arguments(queue, group, now_ms), decode)


def list_groups(
    queue: QueueKeys, *, first: int = 0, limit: int = 50, now_ms: int | None = None
) -> Operation[GroupPage]:
    """A page of the groups that fill, from number `first` on: the next to be flushed first.

    Raises InvalidArgumentError.
    """
    if not 1 <= limit <= constants.PAGE_MAX:
        raise InvalidArgumentError("invalid limit")
    if not 0 <= first <= _FIRST_MAX:
        raise InvalidArgumentError("invalid after")

    def decode(reply: Reply) -> GroupPage:
        now, total, joining, *found = expect_ok(_LIST, reply)
        groups = tuple(
            GroupFilling(
                group=str(name, "utf-8"),
                members=members,
                bytes=size,
                age_ms=max(0, now - first_ms),
                first_ms=first_ms,
                last_ms=last_ms,
                max_size=max_size,
                max_delay_ms=max_delay_ms,
                grace_ms=grace_ms,
            )
            for name, members, size, first_ms, last_ms, max_size, max_delay_ms, grace_ms in found
        )
        after = first + len(groups)
        return GroupPage(
            groups=groups,
            total=total,
            joining=joining,
            now_ms=now,
            after=after if groups and after < total else None,
        )

    return Operation(_LIST, queue.select(_LIST.keys), (clock_argument(now_ms), first, limit, _LOOKS), decode)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLink:
    """A job's link to a batch. A member has `batch_id`, and `key` if others may depend on it; a batch has `members`.
    Other jobs have neither."""

    batch_id: str = ""
    key: str = ""
    members: tuple[str, ...] = ()


def find_batches(queue: QueueKeys, job_ids: tuple[str, ...]) -> Operation[tuple[BatchLink, ...]]:
    """The link of each of these jobs to a batch."""

    def decode(reply: Reply) -> tuple[BatchLink, ...]:
        return tuple([_link_of(value.decode()) for value in expect_ok(_FIND, reply)])

    return Operation(_FIND, queue.select(_FIND.keys), job_ids, decode)


def _link_of(value: str) -> BatchLink:
    if value.startswith("b"):
        return BatchLink(members=tuple([value[at : at + ID_LENGTH] for at in range(1, len(value), ID_LENGTH)]))
    return BatchLink(batch_id=value[1 : 1 + ID_LENGTH], key=value[1 + ID_LENGTH :])


def find_detail(
    queue: QueueKeys, job_id: str, *, preview: int | None = None, now_ms: int | None = None
) -> Plan[JobDetail | None]:
    """As `detail`, also of a job that has become part of a batch: its own id and body, and all else of the batch."""
    (job,) = yield [detail(queue, job_id, preview=preview, now_ms=now_ms)]
    if job is not None:
        return job  # type: ignore[no-any-return]
    return (yield from detail_of_member(queue, job_id, preview=preview, now_ms=now_ms))


def find_result(queue: QueueKeys, job_id: str, *, now_ms: int | None = None) -> Plan[JobResult]:
    """As `result`, also of a job that has become a member of a batch: the batch's."""
    (outcome,) = yield [result(queue, job_id, now_ms=now_ms)]
    if outcome.state is not None:
        return outcome  # type: ignore[no-any-return]
    batch_id = yield from batch_of(queue, job_id)
    if not batch_id:
        return outcome  # type: ignore[no-any-return]
    (outcome,) = yield [result(queue, batch_id, now_ms=now_ms)]
    return outcome  # type: ignore[no-any-return]


def batch_of(queue: QueueKeys, job_id: str) -> Plan[str]:
    """The id of the batch that a job has become a member of, or ""."""
    (found,) = yield [find_batches(queue, (job_id,))]
    return found[0].batch_id  # type: ignore[no-any-return]


def detail_of_member(
    queue: QueueKeys, job_id: str, *, preview: int | None = None, now_ms: int | None = None
) -> Plan[JobDetail | None]:
    """What is known of a job whose group has been flushed: its own id and body, and all else of its batch. None: there
    is no such job, or its batch is gone."""
    batch_id = yield from batch_of(queue, job_id)
    if not batch_id:
        return None
    (batch,) = yield [detail(queue, batch_id, now_ms=now_ms)]
    for member in json.loads(batch.body)["members"] if batch is not None else ():
        if member["job_id"] == job_id:
            body = b64decode(member["data"])
            return replace(  # type: ignore[no-any-return]
                batch,
                job_id=job_id,
                body=body if preview is None else body[:preview],
                body_bytes=len(body),
                published_ms=published_ms(job_id),
                attributes=member["attributes"],
                members=0,
                batch_id=batch_id,
            )
    return None
