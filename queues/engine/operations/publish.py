"""Publish: one job or many with the same options (edges A and B), and republish."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .. import ids, limits
from ..errors import InvalidArgumentError
from ..keys import QueueKeys
from ..operation import Argument, Group, Operation, Reply
from ..record import pack_options
from ..scripts import Script, load
from ..values import DEFAULT_OPTIONS, Published, PublishOptions
from .reply import clock_argument, tag_of, unexpected

_PUBLISH = load("publish")
_REPUBLISH = load("republish")


@dataclass(frozen=True, slots=True, eq=False)
class PreparedOptions:
    """PublishOptions, checked and turned into arguments, for callers who publish with the same options often."""

    arguments: tuple[Argument, ...]
    one_job: bool
    """Whether there is an idempotency key, which fits one job only."""


def prepare(options: PublishOptions) -> PreparedOptions:
    """Raises InvalidArgumentError for options out of range."""
    check_options(options)
    key_ttl_ms = options.ttl_ms if options.key_ttl_ms is None else options.key_ttl_ms
    arguments = (
        options.delay_ms,
        "" if options.at_ms is None else options.at_ms,
        options.ttl_ms,
        options.tries,
        options.priority,
        pack_options(options),
        options.key or "",
        key_ttl_ms,
    )
    return PreparedOptions(arguments, options.key is not None)


def publish(
    queue: QueueKeys,
    bodies: Sequence[bytes],
    options: PublishOptions | PreparedOptions = DEFAULT_OPTIONS,
    *,
    now_ms: int | None = None,
) -> Operation[Published]:
    """Add a job for each of `bodies`, all or nothing; ids come back in their order and ascend.

    Raises InvalidArgumentError for options out of range, bodies too many or too large, or a ttl shorter than the delay.
    """
    prepared = options if isinstance(options, PreparedOptions) else prepare(options)
    jobs = len(bodies)
    if prepared.one_job and jobs > 1:
        raise InvalidArgumentError("key fits one job only")
    if not 1 <= jobs <= limits.BULK_MAX_JOBS:
        raise InvalidArgumentError("too many jobs" if bodies else "no jobs")
    check_bodies(bodies)
    args = (*_head(queue, jobs, now_ms), *prepared.arguments, *bodies)
    group: Group | None = None
    if jobs == 1 and not prepared.one_job and now_ms is None and len(bodies[0]) <= limits.MERGE_BODY_MAX_BYTES:
        group = (_publish_together, (queue.name, prepared.arguments))
    alone, replicated = jobs >= limits.ALONE_MIN_JOBS, True
    return Operation(_PUBLISH, queue.select(_PUBLISH.keys), args, _PUBLISHED, group, None, alone, replicated)


def republish(
    queue: QueueKeys,
    job_id: str,
    body: bytes,
    options: PublishOptions = DEFAULT_OPTIONS,
    *,
    now_ms: int | None = None,
) -> Operation[Published]:
    """Delete `job_id`, in whatever state, and publish `body` as a new job, in one step.

    An unknown `job_id` is no error. A duplicate key leaves the old job as it is.
    """
    prepared = prepare(options)
    check_bodies((body,))
    args = (*_head(queue, 1, now_ms), *prepared.arguments, job_id, body)
    return Operation(_REPUBLISH, queue.select(_REPUBLISH.keys), args, _REPUBLISHED, replicated=True)


_HEAD: Final = _PUBLISH.args.index("delay")
_OPTIONS_END: Final = len(_PUBLISH.args)


def _head(queue: QueueKeys, jobs: int, now_ms: int | None) -> tuple[Argument, ...]:
    """The arguments before those of the options."""
    random, counter = ids.random_start(jobs)
    return (clock_argument(now_ms), queue.name, queue.channel, queue.events_cap, random, counter)


def _publish_together(parts: Sequence[Operation[Any]]) -> Operation[list[Reply]]:
    """Jobs of several callers, with equal options, in one call."""
    first = parts[0]

    def decode(reply: Reply) -> list[Reply]:
        if tag_of(reply) != "ok":
            return [reply] * len(parts)
        return [(reply[0], job_id) for job_id in reply[1:]]

    args = (
        *first.args[: _HEAD - 1],
        ids.random_start(len(parts))[1],
        *first.args[_HEAD:_OPTIONS_END],
        *[part.args[_OPTIONS_END] for part in parts],
    )
    return Operation(_PUBLISH, first.keys, args, decode)


def _published_by(script: Script) -> Callable[[Reply], Published]:
    def decode(reply: Reply) -> Published:
        tag = reply[0]
        if tag == b"ttl_short":
            raise InvalidArgumentError("ttl is shorter than delay")
        if tag not in (b"ok", b"duplicate"):
            raise unexpected(script, reply)
        return Published(tuple([str(job_id, "ascii") for job_id in reply[1:]]), tag == b"duplicate")

    return decode


_PUBLISHED = _published_by(_PUBLISH)
_REPUBLISHED = _published_by(_REPUBLISH)
_MAX_MS = limits.SECONDS_MAX * 1000


def check_options(options: PublishOptions) -> None:
    """Raise InvalidArgumentError naming the first option that is out of its range."""
    if options is DEFAULT_OPTIONS:
        return
    if not 0 <= options.delay_ms <= _MAX_MS:
        raise InvalidArgumentError("invalid delay")
    if options.at_ms is not None and (options.delay_ms or not 0 <= options.at_ms <= 2 * _MAX_MS):
        raise InvalidArgumentError("invalid at")
    if not 0 <= options.ttl_ms <= _MAX_MS:
        raise InvalidArgumentError("invalid ttl")
    if options.tries == 0:
        raise InvalidArgumentError("tries shouldn't be zero")
    if not 1 <= options.tries <= limits.TRIES_MAX:
        raise InvalidArgumentError("invalid tries")
    if not limits.PRIORITY_MIN <= options.priority <= limits.PRIORITY_MAX:
        raise InvalidArgumentError("invalid priority")
    if not 0 <= options.retention_ms <= _MAX_MS:
        raise InvalidArgumentError("invalid retention")
    _check_key(options)
    if options.attributes is not None:
        _check_attributes(options.attributes)


def _check_key(options: PublishOptions) -> None:
    if options.key is None:
        if options.key_ttl_ms is not None:
            raise InvalidArgumentError("key_ttl without key")
        return
    if not _is_text(options.key) or not 1 <= len(options.key.encode()) <= limits.KEY_MAX_BYTES:
        raise InvalidArgumentError("invalid key")
    if options.key_ttl_ms is not None and not 0 <= options.key_ttl_ms <= _MAX_MS:
        raise InvalidArgumentError("invalid key_ttl")


def _check_attributes(attributes: object) -> None:
    if not isinstance(attributes, dict):
        raise InvalidArgumentError("invalid attributes")
    if len(attributes) > limits.ATTRIBUTES_MAX:
        raise InvalidArgumentError(f"too many attributes, cannot exceed {limits.ATTRIBUTES_MAX}")
    for name, value in attributes.items():
        if not _is_text(name) or not _is_text(value):
            raise InvalidArgumentError("invalid attributes")
        too_long = (
            len(name.encode()) > limits.ATTRIBUTE_NAME_MAX_BYTES
            or len(value.encode()) > limits.ATTRIBUTE_VALUE_MAX_BYTES
        )
        if too_long:
            raise InvalidArgumentError(f"attribute too long: {name[:32]}")


def _is_text(text: str) -> bool:
    """Whether it can be stored: half a surrogate pair (JSON lets it in) has no UTF-8."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def check_bodies(bodies: Sequence[bytes]) -> None:
    """Raise InvalidArgumentError unless every body fits."""
    for body in bodies:
        if len(body) > limits.BODY_MAX_BYTES:
            raise InvalidArgumentError("body too large")
