"""Publish: one job or many with the same options (edges A and B), and republish."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from .. import constants, names
from ..errors import InvalidArgumentError
from ..keys import QueueKeys
from ..operation import Argument, MergeKey, Operation, Relay, Reply, clock_argument, is_ok, tag_of, unexpected
from ..queue_limits import check_limit_key
from ..record import OWN_KEY_PREFIX, pack_options
from ..scripts import Script, load
from ..values import DEFAULT_OPTIONS, KeyMode, Published, PublishOptions
from .dependencies import POLICIES, check_dependency

_PUBLISH = load("publish")
_PUBLISH_KEYED = load("publish_keyed")
_PUBLISH_UNIQUE = load("publish_unique")
_PUBLISH_BLOCKED = load("publish_blocked")
_PUBLISH_GROUPED = load("publish_grouped")
_REPUBLISH = load("republish")


@dataclass(frozen=True, slots=True, eq=False)
class PreparedOptions:
    """PublishOptions, checked and turned into arguments, for callers who publish with the same options often."""

    arguments: tuple[Argument, ...]
    one_job: bool
    """Whether there is an idempotency key, which fits one job only."""
    unique: tuple[Argument, ...] = ()
    """How long the key is held, if that depends on the job."""
    depends_on: tuple[str, ...] = ()
    """What the jobs wait for, each as lua/lib/waits.lua has it."""
    policy: str = ""
    """What the failure of a dependency means."""
    is_open: bool = False
    """Whether more dependencies may be added."""
    script: Script = _PUBLISH
    """What publishes jobs with these options, unless they are `unique`."""
    is_member: bool = False
    """Whether the jobs are members of a group."""

    @property
    def writes_much(self) -> bool:
        """Whether Redis has to write more of each job than its record and its place in a list."""
        return self.is_blocked or self.script is not _PUBLISH or self.arguments[4] != 0

    @property
    def is_blocked(self) -> bool:
        """Whether the jobs have to wait for others."""
        return self.is_open or bool(self.depends_on)


def prepare(options: PublishOptions, *, own_key: bool = False) -> PreparedOptions:
    """Raises InvalidArgumentError for options out of range.

    `own_key`: the key is one of this service, which no publish of a client can meet. Jobs are shown without it.
    """
    check_options(options)
    if own_key:
        options = replace(options, key=f"{OWN_KEY_PREFIX}{options.key}")
    key_ttl_ms = options.key_ttl_ms
    if key_ttl_ms is None:
        key_ttl_ms = options.ttl_ms if options.key_mode is KeyMode.WINDOW else 0
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
    mode = "" if options.key is None else _UNIQUE_MODES.get(options.key_mode, "")
    return PreparedOptions(
        arguments,
        options.key is not None,
        (mode, options.key_max_wait_ms) if mode else (),
        tuple(dict.fromkeys(map(str, options.depends_on))),
        POLICIES[options.on_dependency_failure],
        options.dependencies_open,
        _PUBLISH if options.limit_key is None else _PUBLISH_KEYED,
        options.group is not None,
    )


_UNIQUE_MODES: Final = {KeyMode.UNTIL_DONE: "d", KeyMode.UNTIL_STARTED: "s", KeyMode.REPLACE: "r"}
"""As lua/publish_unique.lua has them."""


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
    check_number(bodies, prepared)
    size = check_bodies(bodies)
    if prepared.is_blocked:
        return _publish_blocked(queue, bodies, prepared, size, now_ms)
    if prepared.is_member:
        return publish_members(queue, bodies, prepared, now_ms=now_ms)
    if prepared.unique:
        args = (*head_arguments(queue, 1, now_ms), *prepared.arguments, *prepared.unique, *bodies)
        keys = queue.select(_PUBLISH_UNIQUE.keys)
        return Operation(
            _PUBLISH_UNIQUE, keys, args, _PUBLISHED_UNIQUE, alone=size >= constants.ALONE_MIN_BYTES, replicated=True
        )
    args = (*head_arguments(queue, jobs, now_ms), *prepared.arguments, *bodies)
    merge_key: MergeKey | None = None
    if jobs == 1 and not prepared.one_job and now_ms is None and len(bodies[0]) <= constants.MERGE_BODY_MAX_BYTES:
        merge_key = (_publish_together, (queue.name, prepared.arguments))
    alone = jobs >= constants.ALONE_MIN_JOBS or size >= constants.ALONE_MIN_BYTES
    script = prepared.script
    decode = _PUBLISHED if script is _PUBLISH else _PUBLISHED_KEYED
    return Operation(script, queue.select(script.keys), args, decode, merge_key, None, alone, True)


def _publish_blocked(
    queue: QueueKeys, bodies: Sequence[bytes], prepared: PreparedOptions, size: int, now_ms: int | None
) -> Operation[Published]:
    """Publish jobs that wait for others (edge C)."""
    number, jobs = len(prepared.depends_on), len(bodies)
    check_dependencies_of(jobs, prepared)
    if jobs > 1 and size > constants.STAGE_MIN_BYTES:
        raise InvalidArgumentError("jobs with dependencies are too large together, cannot exceed 1 MiB")
    now, name, _channel, cap, random, counter = head_arguments(queue, jobs, now_ms)
    head = (now, name, cap, random, counter, *prepared.arguments, prepared.policy, int(prepared.is_open), number)
    return Operation(
        _PUBLISH_BLOCKED,
        queue.select(_PUBLISH_BLOCKED.keys),
        (*head, *prepared.depends_on, *bodies),
        _PUBLISHED_BLOCKED,
        alone=jobs * number >= constants.ALONE_MIN_JOBS or size >= constants.ALONE_MIN_BYTES,
        replicated=True,
        relay=Relay(queue.partition, now_ms, is_ok),
    )


def publish_members(
    queue: QueueKeys,
    bodies: Sequence[bytes],
    prepared: PreparedOptions,
    *,
    once: Sequence[Argument] = (),
    once_ttl_ms: int = 0,
    now_ms: int | None = None,
) -> Operation[Published]:
    """Publish members of a group (edge D). `once`: what their repetitions are known by, one for each."""
    size = check_bodies(bodies)
    if len(bodies) > 1 and size > constants.GROUP_BATCH_BYTES:
        raise InvalidArgumentError("members of a group are too large together, cannot exceed 384 KiB")
    rest = [word for pair in zip(once, bodies, strict=True) for word in pair] if once else bodies
    args = (
        *head_arguments(queue, len(bodies) + constants.GROUP_BATCHES_PER_CALL, now_ms),
        *prepared.arguments,
        *(prepared.unique or ("", 0)),
        once_ttl_ms,
        *rest,
    )
    keys = queue.select(_PUBLISH_GROUPED.keys)
    alone = len(bodies) >= constants.ALONE_MIN_JOBS or size >= constants.ALONE_MIN_BYTES
    return Operation(_PUBLISH_GROUPED, keys, args, _PUBLISHED_GROUPED, alone=alone, replicated=True)


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
    if prepared.unique:
        raise InvalidArgumentError("a job that is republished has no key_mode")
    if prepared.is_blocked:
        raise InvalidArgumentError("a job that is republished has no depends_on")
    if prepared.is_member:
        raise InvalidArgumentError("a job that is republished has no group")
    alone = check_bodies((body,)) >= constants.ALONE_MIN_BYTES
    args = (*head_arguments(queue, 1, now_ms), *prepared.arguments, job_id, body)
    return Operation(_REPUBLISH, queue.select(_REPUBLISH.keys), args, _REPUBLISHED, alone=alone, replicated=True)


_HEAD: Final = _PUBLISH.args.index("delay")
_OPTIONS_END: Final = len(_PUBLISH.args)


def head_arguments(queue: QueueKeys, jobs: int, now_ms: int | None) -> tuple[Argument, ...]:
    """The arguments before those of the options."""
    random, counter = names.random_start(jobs)
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
        names.random_start(len(parts))[1],
        *first.args[_HEAD:_OPTIONS_END],
        *[part.args[_OPTIONS_END] for part in parts],
    )
    return Operation(first.script, first.keys, args, decode)


def published_by(script: Script) -> Callable[[Reply], Published]:
    def decode(reply: Reply) -> Published:
        tag = reply[0]
        if tag == b"ttl_short":
            raise InvalidArgumentError("ttl is shorter than delay")
        if tag not in (b"ok", b"duplicate"):
            raise unexpected(script, reply)
        return Published(tuple([str(job_id, "ascii") for job_id in reply[1:]]), tag == b"duplicate")

    return decode


_PUBLISHED = published_by(_PUBLISH)
_PUBLISHED_KEYED = published_by(_PUBLISH_KEYED)
_PUBLISHED_UNIQUE = published_by(_PUBLISH_UNIQUE)
_PUBLISHED_BLOCKED = published_by(_PUBLISH_BLOCKED)
_PUBLISHED_GROUPED = published_by(_PUBLISH_GROUPED)
_REPUBLISHED = published_by(_REPUBLISH)
_MAX_MS = constants.SECONDS_MAX * 1000


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
    if not 1 <= options.tries <= constants.TRIES_MAX:
        raise InvalidArgumentError("invalid tries")
    if not constants.PRIORITY_MIN <= options.priority <= constants.PRIORITY_MAX:
        raise InvalidArgumentError("invalid priority")
    if not 0 <= options.retention_ms <= _MAX_MS:
        raise InvalidArgumentError("invalid retention")
    _check_key(options)
    _check_dependencies(options)
    if options.limit_key is not None:
        check_limit_key(options.limit_key)
    if options.attributes is not None:
        _check_attributes(options.attributes)
    if options.group is not None:
        _check_group(options, options.group)


def _check_group(options: PublishOptions, group: str) -> None:
    check_group(group)
    for name, others in (("limit_key", options.limit_key), ("depends_on", options.depends_on)):
        if others:
            raise InvalidArgumentError(f"{name} and group exclude each other")
    if not 1 <= options.group_max_size <= constants.GROUP_MAX_SIZE:
        raise InvalidArgumentError("invalid group_max_size")
    if not 1 <= options.group_max_delay_ms <= _MAX_MS:
        raise InvalidArgumentError("invalid group_max_delay")
    if not 1 <= options.group_grace_ms <= _MAX_MS:
        raise InvalidArgumentError("invalid group_grace_period")


def check_group(group: str) -> None:
    """Raise InvalidArgumentError unless `group` is printable, not empty, and short enough."""
    if not group or not group.isprintable() or len(group.encode()) > constants.GROUP_MAX_BYTES:
        raise InvalidArgumentError("invalid group")


def _check_key(options: PublishOptions) -> None:
    if options.key is None:
        if options.key_ttl_ms is not None:
            raise InvalidArgumentError("key_ttl without key")
        if options.key_mode is not KeyMode.WINDOW:
            raise InvalidArgumentError("key_mode without key")
        return
    if not 0 <= options.key_max_wait_ms <= _MAX_MS or (
        options.key_max_wait_ms and options.key_mode is not KeyMode.REPLACE
    ):
        raise InvalidArgumentError("invalid key_max_wait")
    if not _is_text(options.key) or not 1 <= len(options.key.encode()) <= constants.KEY_MAX_BYTES:
        raise InvalidArgumentError("invalid key")
    if options.key.startswith(OWN_KEY_PREFIX):
        raise InvalidArgumentError("invalid key: it begins with a zero byte")
    if options.key_ttl_ms is not None and not 0 <= options.key_ttl_ms <= _MAX_MS:
        raise InvalidArgumentError("invalid key_ttl")


def _check_dependencies(options: PublishOptions) -> None:
    if (options.depends_on or options.dependencies_open) and options.key_mode is not KeyMode.WINDOW:
        raise InvalidArgumentError("key_mode and depends_on exclude each other")
    if len(options.depends_on) > constants.DEPENDENCIES_MAX:
        raise InvalidArgumentError(f"too many dependencies, cannot exceed {constants.DEPENDENCIES_MAX}")
    for dependency in options.depends_on:
        check_dependency(dependency)


def _check_attributes(attributes: object) -> None:
    if not isinstance(attributes, dict):
        raise InvalidArgumentError("invalid attributes")
    if len(attributes) > constants.ATTRIBUTES_MAX:
        raise InvalidArgumentError(f"too many attributes, cannot exceed {constants.ATTRIBUTES_MAX}")
    for name, value in attributes.items():
        if not _is_text(name) or not _is_text(value):
            raise InvalidArgumentError("invalid attributes")
        too_long = (
            len(name.encode()) > constants.ATTRIBUTE_NAME_MAX_BYTES
            or len(value.encode()) > constants.ATTRIBUTE_VALUE_MAX_BYTES
        )
        if too_long:
            raise InvalidArgumentError(f"attribute too long: {name[:32]}")


def _is_text(text: str) -> bool:
    """Whether it can be stored: half a surrogate pair (JSON lets it in) has no UTF-8."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def check_number(bodies: Sequence[bytes], options: PreparedOptions) -> None:
    if options.one_job and len(bodies) > 1:
        raise InvalidArgumentError("key fits one job only")
    if not 1 <= len(bodies) <= constants.BULK_MAX_JOBS:
        raise InvalidArgumentError("too many jobs" if bodies else "no jobs")


def check_dependencies_of(jobs: int, options: PreparedOptions) -> None:
    """Raises InvalidArgumentError if so many jobs with these options have too many dependencies together."""
    if jobs * len(options.depends_on) > constants.DEPENDENCIES_MAX:
        raise InvalidArgumentError(f"too many dependencies, cannot exceed {constants.DEPENDENCIES_MAX}")


def check_bodies(bodies: Sequence[bytes]) -> int:
    """Bytes of all together. Raises InvalidArgumentError unless every body fits."""
    size = 0
    for body in bodies:
        if len(body) > constants.BODY_MAX_BYTES:
            raise InvalidArgumentError("body too large")
        size += len(body)
    return size
