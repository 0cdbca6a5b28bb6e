"""Publish under ids by which a repetition is known: for publishers that repeat what they are not sure of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .. import constants
from ..errors import InvalidArgumentError
from ..keys import QueueKeys
from ..operation import Argument, Operation, Reply, clock_argument, expect_ok
from ..record import OWN_KEY_PREFIX
from ..scripts import load
from ..values import DEFAULT_OPTIONS, Published, PublishOptions
from .publish import (
    PreparedOptions,
    check_bodies,
    check_number,
    head_arguments,
    prepare,
    publish_members,
    published_by,
)

_PUBLISH_ONCE = load("publish_once")
_SETTLE_ONCE = load("settle_once")
_PREFIX: Final = OWN_KEY_PREFIX + "once:"
"""Ids are among a queue's idempotency keys."""


def once_key(once: str) -> str:
    """The key by which `find_key` finds the job that was published under this id. Raises InvalidArgumentError."""
    try:
        is_fine = 1 <= len(once.encode()) <= constants.ONCE_MAX_BYTES
    except UnicodeEncodeError:
        is_fine = False
    if not is_fine:
        raise InvalidArgumentError("invalid once")
    return _PREFIX + once


def publish_once(
    queue: QueueKeys,
    bodies: Sequence[bytes],
    options: PublishOptions | PreparedOptions = DEFAULT_OPTIONS,
    *,
    once: Sequence[str],
    now_ms: int | None = None,
) -> Operation[Published]:
    """As `publish`, but a job whose id in `once` was used within ONCE_TTL_S is not added again: its id is returned.

    So a publish whose reply was lost can be repeated, also after its job has been consumed and acked, whatever the
    options say. Independent of an idempotency key among the options, which fits one job only. Several bodies have at
    most STAGE_MIN_BYTES together.
    """
    prepared = options if isinstance(options, PreparedOptions) else prepare(options)
    if prepared.is_blocked:
        raise InvalidArgumentError("a job that is published once has no depends_on")
    check_number(bodies, prepared)
    size = check_bodies(bodies)
    if len(bodies) > 1 and size > constants.STAGE_MIN_BYTES:
        raise InvalidArgumentError("too many bytes in one publish")
    once_keys = [once_key(one) for one in once]
    ttl_ms = constants.ONCE_TTL_S * 1000
    if prepared.is_member:
        return publish_members(queue, bodies, prepared, once=once_keys, once_ttl_ms=ttl_ms, now_ms=now_ms)
    args: tuple[Argument, ...] = (
        *head_arguments(queue, len(bodies), now_ms),
        *prepared.arguments,
        *(prepared.unique or ("", 0)),
        ttl_ms,
        *[word for job in zip(once_keys, bodies, strict=True) for word in job],
    )
    alone = len(bodies) >= constants.ALONE_MIN_JOBS or size >= constants.ALONE_MIN_BYTES
    keys = queue.select(_PUBLISH_ONCE.keys)
    return Operation(_PUBLISH_ONCE, keys, args, _PUBLISHED, alone=alone, replicated=True)


def settle_once(queue: QueueKeys, once: Sequence[str], *, now_ms: int | None = None) -> Operation[int]:
    """Have ids forgotten in ONCE_SETTLED_S: their publisher knows that they were published, and repeats them no more.

    Up to BULK_MAX_JOBS at a time; how many of them were known. Raises InvalidArgumentError.
    """
    if not 1 <= len(once) <= constants.BULK_MAX_JOBS:
        raise InvalidArgumentError("too many ids" if once else "no ids")

    def decode(reply: Reply) -> int:
        return int(expect_ok(_SETTLE_ONCE, reply)[0])

    args = (clock_argument(now_ms), queue.name, constants.ONCE_SETTLED_S * 1000, *map(once_key, once))
    return Operation(_SETTLE_ONCE, queue.select(_SETTLE_ONCE.keys), args, decode)


_PUBLISHED = published_by(_PUBLISH_ONCE)
