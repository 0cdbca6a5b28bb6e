"""How a task's jobs are treated: declared with the task, changed for one call by `.using(...)`.

A job carries its backoff along; no worker computes the delay of a retry, but Redis, in
`queues/engine/lua/lib/backoff.lua`, when the attempt has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from math import isfinite
from typing import Any, Final, Literal, Protocol, TypeAlias, get_args

from queues.engine import (
    Backoff,
    BackoffKind,
    Dependency,
    DependencyFailure,
    InvalidArgumentError,
    KeyMode,
    PublishOptions,
    parse_backoff,
    parse_dependency,
)
from queues.engine.constants import GROUP_DEFAULT_DELAY_S, GROUP_DEFAULT_GRACE_S, GROUP_DEFAULT_SIZE

from .errors import NotConfiguredError
from .outcomes import Delay, seconds

DEFAULT_TRIES: Final = 25
"""As Sidekiq: with its backoff some three weeks."""

Key: TypeAlias = str | Callable[..., str]
TaskKeyMode: TypeAlias = Literal["until_done", "until_started", "window", "replace", "no_overlap"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and when a failed task is tried again.

    `tries`: runs in all. `backoff`: `none`, `fixed:S`, `linear:S`, `exponential:S[:MAX]`, or `sidekiq`, whose n-th
    retry waits n^4 + 15 + rand(30)·(n+1) seconds. Exceptions of `never` make the job a dead letter at once, as do those
    that are not of `only`.
    """

    tries: int = DEFAULT_TRIES
    backoff: str = "sidekiq"
    only: tuple[type[BaseException], ...] = (BaseException,)
    never: tuple[type[BaseException], ...] = ()

    def __post_init__(self) -> None:
        """Accepts a class in place of a tuple of one. Raises NotConfiguredError."""
        for name in ("only", "never"):
            given = getattr(self, name)
            kinds = (given,) if isinstance(given, type) else tuple(given) if isinstance(given, list | tuple) else None
            if kinds is None or not all(isinstance(one, type) and issubclass(one, BaseException) for one in kinds):
                raise NotConfiguredError(f"{name}= of a RetryPolicy takes exception classes, not {given!r}")
            object.__setattr__(self, name, kinds)
        if not _is_int(self.tries):
            raise NotConfiguredError(f"tries= of a RetryPolicy must be a whole number, not {self.tries!r}")
        if not isinstance(self.backoff, str):
            raise NotConfiguredError(f"backoff= of a RetryPolicy must be text, not {self.backoff!r}")

    def retries(self, error: BaseException) -> bool:
        """Whether to try again after this error."""
        return isinstance(error, self.only) and not isinstance(error, self.never)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


DEFAULT_RETRY: Final = RetryPolicy()


@dataclass(frozen=True, kw_only=True)
class TaskOptions:
    """Times in seconds or as timedelta.

    `retry`: a RetryPolicy, or how often the task may run in all. `timeout`: of one attempt. `retention`: how long an
    ended job and its result are kept. `expires`: a job that has not begun by then is dropped (None: never). `delay` or
    `at`: when it is due. `priority`: -100 to 100. `key`: the business id: a format of the arguments
    (`"order-{order_id}"`) or a function of them. A second job with the key is not enqueued while the first is not done
    (`key_mode` "until_done"), or has not begun ("until_started"), each for `key_ttl` at most; or for `key_ttl`
    ("window"; None: as long as `expires`). Or it takes the place of the first while that has not begun, which with
    `delay` debounces: `key_max_wait` after the first of them it is due at the latest ("replace"). Or both are enqueued
    and never run at the same time ("no_overlap"). `limit_key`: the tenant or the like whose jobs share the queue fairly
    with those of others and within its limits, a format or a function as `key` is. `group`: the group that the job is a
    member of, likewise. Such a task has one parameter, a list; each call gives a list, and the function gets the lists
    of all members of a batch as one, once the group is flushed: when it has `group_max_size` members,
    `group_max_delay` after the first, or `group_grace_period` after the latest (over HTTP the queue's policy says
    when). `depends_on`: jobs that must be done before this one runs: what `enqueue` returned, or texts: `QUEUE/JOB_ID`,
    `QUEUE:KEY`, and `JOB_ID` or `:KEY` in the task's own queue. `on_dependency_failure`: what it means if one of them
    fails: wait, fail as well, or continue. `version`: raise it when the signature changes incompatibly. `process`: run
    it in a process of its own, which can be killed. `on_commit`: with taskq.django, a call within a transaction is
    enqueued when that commits; False: at once.
    `outbox`: with taskq.django, write the job into the project's database, in the transaction that the call is in;
    `manage.py runoutbox` publishes it after the commit. A text is the alias of the database; None: as the setting
    TASKQ says. `wait`: how long `enqueue_and_wait` waits for the result.
    """

    queue: str = "default"
    retry: RetryPolicy | int = DEFAULT_RETRY
    timeout: Delay | None = None
    priority: int = 0
    retention: Delay = 0
    expires: Delay | None = None
    delay: Delay = 0
    at: datetime | None = None
    key: Key | None = None
    key_mode: TaskKeyMode = "until_done"
    key_ttl: Delay | None = None
    key_max_wait: Delay = 0
    limit_key: Key | None = None
    group: Key | None = None
    group_max_size: int = GROUP_DEFAULT_SIZE
    group_max_delay: Delay = GROUP_DEFAULT_DELAY_S
    group_grace_period: Delay = GROUP_DEFAULT_GRACE_S
    depends_on: Sequence[DependsOn] = ()
    on_dependency_failure: Literal["wait", "fail", "continue"] = "wait"
    attributes: dict[str, str] | None = None
    version: int = 1
    process: bool = False
    on_commit: bool = True
    outbox: bool | str | None = None
    wait: Delay = 30

    def __post_init__(self) -> None:
        """Raises NotConfiguredError for a value of a wrong type, which would otherwise show later and elsewhere."""
        for name, (is_right, wanted) in _TYPES.items():
            value = getattr(self, name)
            if not is_right(value):
                raise NotConfiguredError(f"{name}= must be {wanted}, not {value!r}")

    def changed(self, **changes: Any) -> TaskOptions:
        """A copy with some options changed. Raises NotConfiguredError for one that does not exist."""
        if unknown := changes.keys() - _NAMES:
            raise NotConfiguredError(
                f"unknown option {', '.join(sorted(unknown))}; there are {', '.join(sorted(_NAMES))}"
            )
        return replace(self, **changes)

    @cached_property
    def retry_policy(self) -> RetryPolicy:
        return RetryPolicy(tries=self.retry) if isinstance(self.retry, int) else self.retry

    @cached_property
    def timeout_s(self) -> float | None:
        return None if self.timeout is None else seconds(self.timeout)

    @cached_property
    def wait_s(self) -> float:
        return seconds(self.wait)

    @cached_property
    def retention_s(self) -> float:
        return seconds(self.retention)

    @cached_property
    def publish_options(self) -> PublishOptions:
        """The engine's options, without the key. Raises InvalidArgumentError, NotConfiguredError."""
        if self.at is not None and self.at.tzinfo is None:
            raise NotConfiguredError("at= needs a time with a zone, as datetime.now(UTC) has")
        if self.at is not None and self.delay:
            raise NotConfiguredError("delay= and at= exclude each other")
        if self.timeout is not None and seconds(self.timeout) <= 0:
            raise NotConfiguredError("timeout= must be above 0 (None: no limit)")
        if self.expires is not None and not _ms(self.expires):
            raise NotConfiguredError("expires= must be above 0 (None: the job never expires)")
        if self.key_mode == "no_overlap" and self.key is None:
            raise NotConfiguredError('key_mode="no_overlap" needs a key=, of what must not overlap')
        if self.key is not None and self.key_mode == "window" and self.key_ttl is None and self.expires is None:
            raise NotConfiguredError('key_mode="window" needs key_ttl=, or expires=')
        if self.key_mode not in get_args(TaskKeyMode):
            raise NotConfiguredError(f"unknown key_mode {self.key_mode!r}: {', '.join(get_args(TaskKeyMode))}")
        return PublishOptions(
            delay_ms=_ms(self.delay),
            at_ms=None if self.at is None else round(self.at.astimezone(UTC).timestamp() * 1_000),
            ttl_ms=0 if self.expires is None else _ms(self.expires),
            tries=self.retry_policy.tries,
            priority=self.priority,
            backoff=_backoff(self.retry_policy.backoff),
            retention_ms=_ms(self.retention),
            attributes=self.attributes,
            group_max_size=self.group_max_size,
            group_max_delay_ms=_ms(self.group_max_delay),
            group_grace_ms=_ms(self.group_grace_period),
            depends_on=tuple([dependency_of(one, self.queue) for one in self.depends_on]),
            on_dependency_failure=DependencyFailure(self.on_dependency_failure),
        )


class QueuedJob(Protocol):
    """A `taskq.Job`."""

    @property
    def queue(self) -> str: ...
    @property
    def id(self) -> str: ...


DependsOn: TypeAlias = "QueuedJob | Dependency | str"


def dependency_of(one: DependsOn, queue: str) -> Dependency:
    """Raises InvalidArgumentError."""
    if isinstance(one, str):
        return parse_dependency(one, queue=queue)
    return one if isinstance(one, Dependency) else Dependency(queue=one.queue, job_id=one.id)


def _are_dependencies(value: object) -> bool:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return False
    return all(
        isinstance(one, str | Dependency) or (hasattr(one, "queue") and isinstance(getattr(one, "id", None), str))
        for one in value
    )


def _is_delay(value: object) -> bool:
    if isinstance(value, timedelta):
        return True
    try:
        return hasattr(value, "__float__") and isfinite(value)  # Decimal, too, but no text
    except OverflowError:
        return False


def _is_delay_or_none(value: object) -> bool:
    return value is None or _is_delay(value)


def _is_text_map(value: object) -> bool:
    if value is None:
        return True
    return isinstance(value, Mapping) and all(isinstance(part, str) for item in value.items() for part in item)


def _is_key_or_none(value: object) -> bool:
    return value is None or isinstance(value, str) or callable(value)


_KEY: Final = "text or a function"
_SECONDS: Final = "a finite number of seconds or a timedelta"
_TYPES: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "queue": (lambda value: isinstance(value, str), "text"),
    "retry": (lambda value: isinstance(value, RetryPolicy) or _is_int(value), "a RetryPolicy or a number of tries"),
    "timeout": (_is_delay_or_none, _SECONDS),
    "priority": (_is_int, "a whole number"),
    "retention": (_is_delay, _SECONDS),
    "expires": (_is_delay_or_none, _SECONDS),
    "delay": (_is_delay, _SECONDS),
    "at": (lambda value: value is None or isinstance(value, datetime), "a datetime"),
    "key": (_is_key_or_none, _KEY),
    "key_ttl": (_is_delay_or_none, _SECONDS),
    "key_max_wait": (_is_delay, _SECONDS),
    "limit_key": (_is_key_or_none, _KEY),
    "group": (_is_key_or_none, _KEY),
    "group_max_size": (_is_int, "a whole number"),
    "group_max_delay": (_is_delay, _SECONDS),
    "group_grace_period": (_is_delay, _SECONDS),
    "depends_on": (_are_dependencies, "a list of jobs, or of texts such as QUEUE/JOB_ID and QUEUE:KEY"),
    "on_dependency_failure": (lambda value: value in ("wait", "fail", "continue"), "wait, fail or continue"),
    "attributes": (_is_text_map, "a dict of texts"),
    "version": (_is_int, "a whole number"),
    "wait": (_is_delay, _SECONDS),
}
_NAMES: Final = frozenset(field.name for field in fields(TaskOptions))


def keyed(options: PublishOptions, key: str, task: TaskOptions) -> PublishOptions:
    """The options with a key."""
    return replace(
        options,
        key=key,
        key_mode=KeyMode(task.key_mode),
        key_ttl_ms=None if task.key_ttl is None else _ms(task.key_ttl),
        key_max_wait_ms=_ms(task.key_max_wait),
    )


def _ms(delay: Delay) -> int:
    ms = round(seconds(delay) * 1_000)
    if ms < 0:
        raise NotConfiguredError(f"a time must not be negative: {delay}")
    return ms


def _backoff(text: str) -> Backoff:
    try:
        backoff = parse_backoff(text)
        # A worker that died costs its lease, and no more.
        return backoff if backoff.kind is BackoffKind.NONE else replace(backoff, failures_only=True)
    except InvalidArgumentError as error:
        raise NotConfiguredError(
            f"unknown backoff {text!r}: none, fixed:S, linear:S, exponential:S[:MAX] or sidekiq"
        ) from error
