"""The values that go into and come out of the engine. Times: ms since the epoch by the Redis server's clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Literal, NamedTuple, TypeVar, dataclass_transform

from . import constants
from .backoff import NO_BACKOFF, Backoff
from .names import published_ms

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """Make `cls` a dataclass with slots that is frozen for the type checker only. For values of which each request
    makes several.

    CPython takes six times as long to make a frozen one, and four times as long to read a named tuple.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)


class HashedOnce:
    """Base of a frozen dataclass without slots that is the key of a cache on every request: its hash is kept."""

    def __hash__(self) -> int:
        kept = self.__dict__.get("_hash")
        if kept is None:
            kept = hash(tuple([getattr(self, field.name) for field in fields(self)]))  # type: ignore[arg-type]
            self.__dict__["_hash"] = kept
        return kept


class KeyMode(StrEnum):
    """How long a job holds its key. `window`: for `key_ttl_ms`. `until_done`, `until_started`: as long as the job is
    not done, or has not begun; `key_ttl_ms` may bound that. `replace`: as `until_started`, and a second publish takes
    the place of the first.
    """

    WINDOW = "window"
    UNTIL_DONE = "until_done"
    UNTIL_STARTED = "until_started"
    REPLACE = "replace"


class JobState(StrEnum):
    """Where a job is. Exactly one at any instant."""

    READY = "ready"
    DELAYED = "delayed"
    RETRY = "retry"
    WORKING = "working"
    DEAD = "dead"
    COMPLETED = "completed"
    BLOCKED = "blocked"
    GROUPED = "grouped"


class DependencyFailure(StrEnum):
    """What it means for a job that one it depends on is dead, deleted or expired. `wait`: it waits until that one is
    respawned and acked; `fail`: it is dead, too; `continue`: as if that one had been acked."""

    WAIT = "wait"
    FAIL = "fail"
    CONTINUE = "continue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """A job that another one waits for, in a queue of the same namespace: by its id, or by its key."""

    queue: str
    job_id: str = ""
    key: str = ""

    def __str__(self) -> str:
        return f"{self.queue}:{self.key}" if self.key else f"{self.queue}/{self.job_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishOptions:
    """How jobs are to be treated; shared by all jobs of one publish.

    `at_ms` is an absolute due time and excludes `delay_ms`. `ttl_ms` 0 = never expires. `key` makes a second publish
    with the same key a duplicate, for as long as `key_mode` says: within `key_ttl_ms` (None: the ttl), by default. It
    fits one job only. `key_max_wait_ms`: jobs that replace each other are due so long after the first of them at the
    latest (0: no bound). `retention_ms` is how long a completed job and its result are kept.
    `limit_key` names the tenant or account whose jobs share the queue fairly with those of others, within its limits
    (ConsumeLimits). A job with `depends_on` is blocked until all of these have been acked. With `dependencies_open` it
    takes more of them (`add_dependencies`), and stays blocked until it is closed (`close_dependencies`). One with a
    `group` is a member of it until the group is flushed: when it has `group_max_size` members, or its oldest has been
    there for `group_max_delay_ms`, or none has come for `group_grace_ms`. `delay_ms` is then how long it takes until
    the job joins the group.
    """

    delay_ms: int = 0
    at_ms: int | None = None
    ttl_ms: int = constants.DEFAULT_TTL_S * 1000
    tries: int = constants.DEFAULT_TRIES
    priority: int = 0
    key: str | None = None
    key_ttl_ms: int | None = None
    key_mode: KeyMode = KeyMode.WINDOW
    key_max_wait_ms: int = 0
    backoff: Backoff = NO_BACKOFF
    retention_ms: int = 0
    attributes: Mapping[str, str] | None = None
    limit_key: str | None = None
    group: str | None = None
    group_max_size: int = constants.GROUP_DEFAULT_SIZE
    group_max_delay_ms: int = constants.GROUP_DEFAULT_DELAY_S * 1000
    group_grace_ms: int = constants.GROUP_DEFAULT_GRACE_S * 1000
    depends_on: tuple[Dependency, ...] = ()
    on_dependency_failure: DependencyFailure = DependencyFailure.WAIT
    dependencies_open: bool = False


DEFAULT_OPTIONS = PublishOptions()


class Published(NamedTuple):
    """The outcome of a publish. `duplicate`: nothing was added, `job_ids` holds the one job that the key belongs to."""

    job_ids: tuple[str, ...]
    duplicate: bool = False


@value
class Delivery:
    """A job as a consumer or a peek gets it. `now_ms` is the server's time at that moment.

    `attempt` counts deliveries from 1 and never goes back, so it tells one holder from another; `used` counts the tries
    that were burned, which `release` gives back and `freeze_tries` spares.
    """

    namespace: str
    queue: str
    job_id: str
    body: bytes
    attempt: int
    used: int
    tries: int
    expires_ms: int
    now_ms: int
    attributes: Mapping[str, str] | None

    @property
    def ttl_s(self) -> int:
        """Seconds left to live, rounded up so that a living job never shows 0; 0 = for ever."""
        if not self.expires_ms:
            return 0
        left = -((self.now_ms - self.expires_ms) // 1000)
        return left if left > 1 else 1

    @property
    def elapsed_ms(self) -> int:
        """Time since publish, in ms."""
        elapsed = self.now_ms - published_ms(self.job_id)
        return elapsed if elapsed > 0 else 0

    @property
    def remain_tries(self) -> int:
        """Further times it may be delivered."""
        return self.tries - self.used if self.tries > self.used else 0


@value
class Consumed:
    """The outcome of a consume: jobs of one or several queues in order.

    `next_due_ms`: when nothing was there, the earliest time at which one of the queues may have some (None: never).
    """

    jobs: tuple[Delivery, ...]
    next_due_ms: int | None = None
    now_ms: int = 0
    limit_taken: LimitTaken | None = None
    """Where this was counted, if it was limited and there are jobs."""

    def without_bodies(self) -> Consumed:
        """The same with empty bodies, to be kept for as long as it may have to be given back."""
        return replace(self, jobs=tuple([replace(job, body=b"") for job in self.jobs]))


class AckOutcome(StrEnum):
    """`acked` ended a working job, `deleted` removed one that was not working, `missing` found none to end.

    `lost` and `too_large` changed nothing: another attempt holds the job, or it would have to keep too large a result.
    """

    ACKED = "acked"
    DELETED = "deleted"
    MISSING = "missing"
    LOST = "lost"
    TOO_LARGE = "too_large"


@value
class AckResult:
    """How an ack went. `run_ms`: time from delivery to ack, of a job that was acked."""

    outcome: AckOutcome
    run_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailResult:
    """Where a failed job went. `due_ms` 0 unless `state` is retry."""

    state: JobState
    due_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRecord:
    """One attempt that did not end in an ack. `outcome`: failed, lease_lost."""

    attempt: int
    taken_ms: int
    ended_ms: int
    outcome: str
    consumer: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDetail:
    """All that is known of one job. Times None where they do not apply; `run_*` describe the newest attempt."""

    namespace: str
    queue: str
    job_id: str
    state: JobState
    body: bytes
    """In a page of a listing only the first bytes: `body_bytes` is the whole size."""
    body_bytes: int
    attempt: int
    used: int
    tries: int
    priority: int
    published_ms: int
    now_ms: int
    expires_ms: int
    due_ms: int | None
    lease_end_ms: int | None
    died_ms: int | None
    kept_until_ms: int | None
    taken_ms: int | None
    consumer: str
    backoff: Backoff
    retention_ms: int
    key: str
    attributes: Mapping[str, str] | None
    limit_key: str
    result_bytes: int | None
    history: tuple[AttemptRecord, ...]
    group: str = ""
    """Of a member, and of a batch."""
    members: int = 0
    """Of a batch, how many jobs it is made of; 0: it is none."""
    batch_id: str = ""
    """Of a member whose group has been flushed. All fields but its id and body are then those of the batch."""

    def as_delivery(self) -> Delivery:
        """The same job in the form that a peek answers."""
        return Delivery(
            namespace=self.namespace,
            queue=self.queue,
            job_id=self.job_id,
            body=self.body,
            attempt=self.attempt,
            used=self.used,
            tries=self.tries,
            expires_ms=self.expires_ms,
            now_ms=self.now_ms,
            attributes=self.attributes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """`state` None: no such job. `body` None: not completed, or completed without a result."""

    state: JobState | None
    body: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of jobs in one state. `after` goes into the next call; None: this was the last."""

    jobs: tuple[JobDetail, ...]
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """What a scan looks for: texts that occur anywhere, in any case of ASCII letters. A job matches if all of them do.

    `attribute`: `NAME=TEXT` is text in the value of that attribute; without `=`, text in any attribute's name or value.
    `error`: in the error of the newest attempt that failed.
    """

    job_id: str = ""
    key: str = ""
    attribute: str = ""
    error: str = ""
    body: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """One stretch of a scan: the jobs that matched, of the `looked_at` ones. `size`: all jobs in the state.

    `after` goes into the next call; None: the scan is at its end.
    """

    jobs: tuple[JobDetail, ...]
    after: str | None
    looked_at: int
    size: int


class Rescheduled(StrEnum):
    """`expires`: the job's ttl ends before that time. `other`: it waits for no time. Neither was changed."""

    MOVED = "moved"
    EXPIRES = "expires"
    OTHER = "other"
    MISSING = "missing"


RequestKind = Literal["read", "write"]
"""A consume, or a publish."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimit:
    """How many requests of a kind a token has per interval."""

    token_id: str
    kind: RequestKind
    allowance: int
    interval_ms: int


@value
class LimitTaken:
    """Whether a request fits its token's limit; if not, in how many ms the interval ends."""

    allowed: bool
    retry_after_ms: int = 0
    key: bytes = b""
    ticket: str = ""
    """Where it was counted, and in which interval: what giving it back needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What one tick of a background role did."""

    queues: int = 0
    jobs: int = 0
    dead: int = 0
    more: bool = False
    """There was more than the bound allows: call again at once."""

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            queues=self.queues + other.queues,
            jobs=self.jobs + other.jobs,
            dead=self.dead + other.dead,
            more=self.more or other.more,
        )
