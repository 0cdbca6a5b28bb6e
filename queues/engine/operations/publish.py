"""Publish: one job or many with the same options (edges A and B), and republish."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .. import ids, limits
from ..errors import InvalidArgumentError, StoreUnavailableError, TaskqError
from ..keys import QueueKeys
from ..operation import Apart, Argument, Group, Operation, Plan, Relay, Reply
from ..queue_limits import check_limit_key
from ..record import pack_options
from ..reply import clock_argument, expect_ok, tag_of, unexpected
from ..scripts import Script, load
from ..values import DEFAULT_OPTIONS, KeyMode, Published, PublishOptions, RequestLimit
from .dependencies import POLICIES, check_dependency
from .ratelimit import limited

_PUBLISH = load("publish")
_PUBLISH_KEYED = load("publish_keyed")
_PUBLISH_UNIQUE = load("publish_unique")
_PUBLISH_BLOCKED = load("publish_blocked")
_PUBLISH_GROUPED = load("publish_grouped")
_REPUBLISH = load("republish")
_STAGE = load("stage")
_PUBLISH_STAGED = load("publish_staged")
_PUBLISH_STAGED_BLOCKED = load("publish_staged_blocked")
_UNSTAGE = load("unstage")
_STAGE_TRIES: Final = 3


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


def prepare(options: PublishOptions) -> PreparedOptions:
    """Raises InvalidArgumentError for options out of range."""
    check_options(options)
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
            _PUBLISH_UNIQUE, keys, args, _PUBLISHED_UNIQUE, alone=size >= limits.ALONE_MIN_BYTES, replicated=True
        )
    args = (*head_arguments(queue, jobs, now_ms), *prepared.arguments, *bodies)
    group: Group | None = None
    if jobs == 1 and not prepared.one_job and now_ms is None and len(bodies[0]) <= limits.MERGE_BODY_MAX_BYTES:
        group = (_publish_together, (queue.name, prepared.arguments))
    alone = jobs >= limits.ALONE_MIN_JOBS or size >= limits.ALONE_MIN_BYTES
    script = prepared.script
    decode = _PUBLISHED if script is _PUBLISH else _PUBLISHED_KEYED
    return Operation(script, queue.select(script.keys), args, decode, group, None, alone, True)


def _publish_blocked(
    queue: QueueKeys, bodies: Sequence[bytes], prepared: PreparedOptions, size: int, now_ms: int | None
) -> Operation[Published]:
    """Publish jobs that wait for others (edge C)."""
    number, jobs = len(prepared.depends_on), len(bodies)
    check_dependencies_of(jobs, prepared)
    if jobs > 1 and size > limits.STAGE_MIN_BYTES:
        raise InvalidArgumentError("jobs with dependencies are too large together, cannot exceed 1 MiB")
    now, name, _channel, cap, random, counter = head_arguments(queue, jobs, now_ms)
    head = (now, name, cap, random, counter, *prepared.arguments, prepared.policy, int(prepared.is_open), number)
    return Operation(
        _PUBLISH_BLOCKED,
        queue.select(_PUBLISH_BLOCKED.keys),
        (*head, *prepared.depends_on, *bodies),
        _PUBLISHED_BLOCKED,
        alone=jobs * number >= limits.ALONE_MIN_JOBS or size >= limits.ALONE_MIN_BYTES,
        replicated=True,
        relay=Relay(queue.partition, now_ms, lambda reply: reply[0] == b"ok"),
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
    if len(bodies) > 1 and size > limits.GROUP_BATCH_BYTES:
        raise InvalidArgumentError("members of a group are too large together, cannot exceed 384 KiB")
    now, name, channel, cap, random, _ = head_arguments(queue, 1, now_ms)
    counter = ids.random_start(len(bodies) + limits.GROUP_BATCHES_PER_CALL)[1]
    rest = [word for pair in zip(once, bodies, strict=True) for word in pair] if once else bodies
    args = (
        *(now, name, channel, cap, random, counter),
        *prepared.arguments,
        *(prepared.unique or ("", 0)),
        once_ttl_ms,
        *rest,
    )
    keys = queue.select(_PUBLISH_GROUPED.keys)
    alone = len(bodies) >= limits.ALONE_MIN_JOBS or size >= limits.ALONE_MIN_BYTES
    return Operation(_PUBLISH_GROUPED, keys, args, _PUBLISHED_GROUPED, alone=alone, replicated=True)


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
    a priority or dependencies. Until the last call nobody sees anything of it; what a publish leaves behind that does
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
        random, counter = ids.random_start(len(bodies))
        began = now_ms
        try:
            for first, part in _parts(bodies):
                (began,) = yield [_stage(queue, part, prepared, random, counter + first, began)]
            last = _publish_staged(queue, bodies, prepared, random, counter, began)
            (outcome,) = yield [last if limit is None else limited(last, limit)]
        except TaskqError:
            if began is not None:
                yield Apart([_unstage(queue, part, random, counter + first, began) for first, part in _parts(bodies)])
            raise
        if outcome is not None:
            return outcome  # type: ignore[no-any-return]
        # Parts that were written after the others had gone.
        yield Apart([_unstage(queue, part, random, counter + first, began) for first, part in _parts(bodies)])
    raise StoreUnavailableError("the jobs were not written: the queue was deleted meanwhile, or it took over a minute")


def is_large(bodies: Sequence[bytes], options: PreparedOptions) -> bool:
    """Whether a publish is too large for one call, so that it is one for `publish_large`."""
    if len(bodies) == 1 or options.is_member:
        return False
    if len(bodies) > limits.STAGE_MIN_JOBS and options.writes_much:
        return True
    return sum(map(len, bodies)) > limits.STAGE_MIN_BYTES


def _parts(bodies: Sequence[bytes]) -> Iterator[tuple[int, Sequence[bytes]]]:
    """The bodies in parts of about STAGE_PART_BYTES or of STAGE_PART_JOBS, each with the place of its first."""
    first, size = 0, 0
    for place, body in enumerate(bodies):
        is_full = size + len(body) > limits.STAGE_PART_BYTES or place - first == limits.STAGE_PART_JOBS
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


def _unstage(queue: QueueKeys, part: Sequence[bytes], random: str, counter: int, began: int) -> Operation[int]:
    """Drop what has been written of a part."""
    args = (clock_argument(began), queue.name, random, counter, len(part))
    return Operation(_UNSTAGE, queue.select(_UNSTAGE.keys), args, lambda reply: int(expect_ok(_UNSTAGE, reply)[0]))


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
            relay=Relay(queue.partition, began, lambda reply: reply[0] == b"ok"),
        )
    head = (clock_argument(began), queue.name, queue.channel, queue.events_cap, random, counter)
    args = (*head, *options.arguments, *map(len, bodies))
    return Operation(_PUBLISH_STAGED, queue.select(_PUBLISH_STAGED.keys), args, decode, alone=True, replicated=True)


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
    alone = check_bodies((body,)) >= limits.ALONE_MIN_BYTES
    args = (*head_arguments(queue, 1, now_ms), *prepared.arguments, job_id, body)
    return Operation(_REPUBLISH, queue.select(_REPUBLISH.keys), args, _REPUBLISHED, alone=alone, replicated=True)


_HEAD: Final = _PUBLISH.args.index("delay")
_OPTIONS_END: Final = len(_PUBLISH.args)


def head_arguments(queue: QueueKeys, jobs: int, now_ms: int | None) -> tuple[Argument, ...]:
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
_STAGED_PUBLISHED = published_by(_PUBLISH_STAGED)
_STAGED_PUBLISHED_BLOCKED = published_by(_PUBLISH_STAGED_BLOCKED)
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
    if not 1 <= options.group_max_size <= limits.GROUP_MAX_SIZE:
        raise InvalidArgumentError("invalid group_max_size")
    if not 1 <= options.group_max_delay_ms <= _MAX_MS:
        raise InvalidArgumentError("invalid group_max_delay")
    if not 1 <= options.group_grace_ms <= _MAX_MS:
        raise InvalidArgumentError("invalid group_grace_period")


def check_group(group: str) -> None:
    """Raise InvalidArgumentError unless `group` is printable, not empty, and short enough."""
    if not group or not group.isprintable() or len(group.encode()) > limits.GROUP_MAX_BYTES:
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
    if not _is_text(options.key) or not 1 <= len(options.key.encode()) <= limits.KEY_MAX_BYTES:
        raise InvalidArgumentError("invalid key")
    if options.key_ttl_ms is not None and not 0 <= options.key_ttl_ms <= _MAX_MS:
        raise InvalidArgumentError("invalid key_ttl")


def _check_dependencies(options: PublishOptions) -> None:
    if (options.depends_on or options.dependencies_open) and options.key_mode is not KeyMode.WINDOW:
        raise InvalidArgumentError("key_mode and depends_on exclude each other")
    if len(options.depends_on) > limits.DEPENDENCIES_MAX:
        raise InvalidArgumentError(f"too many dependencies, cannot exceed {limits.DEPENDENCIES_MAX}")
    for dependency in options.depends_on:
        check_dependency(dependency)


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


def check_number(bodies: Sequence[bytes], options: PreparedOptions) -> None:
    if options.one_job and len(bodies) > 1:
        raise InvalidArgumentError("key fits one job only")
    if not 1 <= len(bodies) <= limits.BULK_MAX_JOBS:
        raise InvalidArgumentError("too many jobs" if bodies else "no jobs")


def check_dependencies_of(jobs: int, options: PreparedOptions) -> None:
    """Raises InvalidArgumentError if so many jobs with these options have too many dependencies together."""
    if jobs * len(options.depends_on) > limits.DEPENDENCIES_MAX:
        raise InvalidArgumentError(f"too many dependencies, cannot exceed {limits.DEPENDENCIES_MAX}")


def check_bodies(bodies: Sequence[bytes]) -> int:
    """Bytes of all together. Raises InvalidArgumentError unless every body fits."""
    size = 0
    for body in bodies:
        if len(body) > limits.BODY_MAX_BYTES:
            raise InvalidArgumentError("body too large")
        size += len(body)
    return size
