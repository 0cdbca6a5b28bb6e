"""Large publishes: their records are written in parts, and then all of their jobs begin in one call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from .. import constants, names
from ..errors import InvalidArgumentError, StoreUnavailableError, TaskqError
from ..keys import QueueKeys
from ..operation import Apart, Argument, Operation, Plan, Relay, Reply, clock_argument, expect_ok, is_ok, tag_of
from ..scripts import load
from ..values import DEFAULT_OPTIONS, Published, PublishOptions, RequestLimit
from .publish import PreparedOptions, check_bodies, check_dependencies_of, check_number, prepare, publish, published_by
from .token_rate_limit import limited

_STAGE = load("stage")
_PUBLISH_STAGED = load("publish_staged")
_PUBLISH_STAGED_BLOCKED = load("publish_staged_blocked")
_UNSTAGE = load("unstage")
_STAGED_PUBLISHED = published_by(_PUBLISH_STAGED)
_STAGED_PUBLISHED_BLOCKED = published_by(_PUBLISH_STAGED_BLOCKED)
_STAGE_TRIES: Final = 3


def publish_large(
    queue: QueueKeys,
    bodies: Sequence[bytes],
    options: PublishOptions | PreparedOptions = DEFAULT_OPTIONS,
    *,
    limit: RequestLimit | None = None,
    now_ms: int | None = None,
) -> Plan[Published]:
    """As `publish`, whatever the size of all bodies together: the records are written in parts, then all jobs begin.

    So no call keeps Redis busy for as long as all the bytes take, or all that is written of many jobs with a limit key,
    a priority or dependencies. Until the last call none of it is visible; what a publish leaves behind that does
    not come to its end is dropped a minute later. `limit`: see `limited`.
    """
    prepared = options if isinstance(options, PreparedOptions) else prepare(options)
    check_number(bodies, prepared)
    check_bodies(bodies)
    check_dependencies_of(len(bodies), prepared)
    if not is_large(bodies, prepared):
        operation = publish(queue, bodies, prepared, now_ms=now_ms)
        (published,) = yield [operation if limit is None else limited(operation, limit)]
        return published  # type: ignore[no-any-return]
    for _ in range(_STAGE_TRIES):
        random, counter = names.random_start(len(bodies))
        began = now_ms
        try:
            for first, part in _parts(bodies):
                (began,) = yield [_stage(queue, part, prepared, random, counter + first, began)]
            last = _publish_staged(queue, bodies, prepared, random, counter, began)
            (outcome,) = yield [last if limit is None else limited(last, limit)]
        except TaskqError:
            if began is not None:
                yield _unstage_all(queue, bodies, random, counter, began)
            raise
        if outcome is not None:
            return outcome  # type: ignore[no-any-return]
        yield _unstage_all(queue, bodies, random, counter, began)  # some parts may have been written after the loss
    raise StoreUnavailableError("the jobs were not written: the queue was deleted meanwhile, or it took over a minute")


def is_large(bodies: Sequence[bytes], options: PreparedOptions) -> bool:
    """Whether a publish is too large for one call, so that it is one for `publish_large`."""
    if len(bodies) == 1 or options.is_member:
        return False
    if len(bodies) > constants.STAGE_MIN_JOBS and options.writes_much:
        return True
    return sum(map(len, bodies)) > constants.STAGE_MIN_BYTES


def _parts(bodies: Sequence[bytes]) -> Iterator[tuple[int, Sequence[bytes]]]:
    """The bodies in parts of about STAGE_PART_BYTES or of STAGE_MIN_JOBS, each with the place of its first."""
    first, size = 0, 0
    for place, body in enumerate(bodies):
        is_full = size + len(body) > constants.STAGE_PART_BYTES or place - first == constants.STAGE_MIN_JOBS
        if place > first and is_full:
            yield first, bodies[first:place]
            first, size = place, 0
        size += len(body)
    yield first, bodies[first:]


def _stage(
    queue: QueueKeys, part: Sequence[bytes], options: PreparedOptions, random: str, counter: int, began: int | None
) -> Operation[int]:
    """Write records. The time that all calls for the same publish have to be given."""

    def decode(reply: Reply) -> int:
        if tag_of(reply) == "ttl_short":
            raise InvalidArgumentError("ttl is shorter than delay")
        (now,) = expect_ok(_STAGE, reply)
        return int(now)

    delay, at, ttl, tries, priority, packed, *_ = options.arguments
    head = (clock_argument(began), queue.name, random, counter, delay, at, ttl, tries, priority, packed)
    args = (*head, *_blocked_arguments(options), *part)
    return Operation(_STAGE, queue.select(_STAGE.keys), args, decode, alone=True)


def _blocked_arguments(options: PreparedOptions) -> tuple[Argument, ...]:
    """What jobs wait for, as stage takes it."""
    policy = options.policy if options.is_blocked else ""
    return (policy, int(options.is_open), len(options.depends_on), *options.depends_on)


def _unstage(queue: QueueKeys, part: Sequence[bytes], random: str, counter: int, began: int | None) -> Operation[int]:
    """Drop what has been written of a part."""
    args = (clock_argument(began), queue.name, random, counter, len(part))
    return Operation(_UNSTAGE, queue.select(_UNSTAGE.keys), args, lambda reply: int(expect_ok(_UNSTAGE, reply)[0]))


def _unstage_all(queue: QueueKeys, bodies: Sequence[bytes], random: str, counter: int, began: int | None) -> Apart:
    return Apart([_unstage(queue, part, random, counter + first, began) for first, part in _parts(bodies)])


def _publish_staged(
    queue: QueueKeys,
    bodies: Sequence[bytes],
    options: PreparedOptions,
    random: str,
    counter: int,
    began: int | None,
) -> Operation[Published | None]:
    """Begin the jobs. None: the records are not there any more."""

    def decode(reply: Reply) -> Published | None:
        return None if tag_of(reply) == "gone" else published(reply)

    published = _STAGED_PUBLISHED_BLOCKED if options.is_blocked else _STAGED_PUBLISHED
    if options.is_blocked:
        delay, at, ttl, *_ = options.arguments
        start = (clock_argument(began), queue.name, queue.events_cap, random, counter)
        return Operation(
            _PUBLISH_STAGED_BLOCKED,
            queue.select(_PUBLISH_STAGED_BLOCKED.keys),
            (*start, delay, at, ttl, *map(len, bodies)),
            decode,
            alone=True,
            replicated=True,
            relay=Relay(queue.partition, began, is_ok),
        )
    head = (clock_argument(began), queue.name, queue.channel, queue.events_cap, random, counter)
    args = (*head, *options.arguments, *map(len, bodies))
    return Operation(_PUBLISH_STAGED, queue.select(_PUBLISH_STAGED.keys), args, decode, alone=True, replicated=True)
