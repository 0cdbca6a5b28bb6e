"""What can be read about queues: names, counts, statistics, filling groups, limit keys. Times: ms, by Redis's clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from .values import JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePage:
    """A page of queue names of a namespace in name order. `after`: as in Page."""

    names: tuple[str, ...]
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStats:
    """Counts per state, now; rates per second over the last minute; percentiles in ms over the last five minutes.

    Percentiles come from a histogram with four buckets per octave: they are at most 9 % off. None: no durations.
    """

    namespace: str
    queue: str
    counts: Mapping[JobState, int]
    paused: bool
    now_ms: int
    oldest_ready_ms: int | None
    """Age of the oldest ready job: time since it became due."""
    published_per_s: float
    consumed_per_s: float
    acked_per_s: float
    failed_per_s: float
    wait_ms: Mapping[str, float | None] = field(default_factory=dict)
    """p50, p95, p99 of due → consumed."""
    run_ms: Mapping[str, float | None] = field(default_factory=dict)
    """p50, p95, p99 of consumed → acked."""
    late_ms: Mapping[str, float | None] = field(default_factory=dict)
    """p50, p95, p99 of due → made ready, of delayed and retried jobs."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Dead letters that bounds dropped, by bound (age, count), until none was for a week or the queue was deleted."""
    died: int = 0
    leases_lost: int = 0
    """Jobs that died, and attempts whose lease ran out, in the last five minutes."""
    acked: int = 0
    """Jobs that were acked in the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How many durations fell into each span, of which each ends at twice as long as the one before.

    `bounds_ms[i]` is the upper end of span i; that of 1 ms holds all that is shorter. Both empty: there were none.
    """

    bounds_ms: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFilling:
    """A group that fills. `flush_ms`: when it is flushed if no job joins. `bytes`: of its members' records. `age_ms`:
    how long its oldest member has been there."""

    group: str
    members: int
    bytes: int
    age_ms: int
    first_ms: int
    """When its oldest member joined; `last_ms`: its latest."""
    last_ms: int
    max_size: int
    max_delay_ms: int
    grace_ms: int

    @property
    def flush_ms(self) -> int:
        return min(self.first_ms + self.max_delay_ms, self.last_ms + self.grace_ms)

    @property
    def left_ms(self) -> int:
        """How long until then."""
        return max(0, self.flush_ms - self.first_ms - self.age_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPage:
    """A page of groups that fill, the next to be flushed first. `total`: all of them. `joining`: members of the queue's
    groups whose delay is not over. `after` goes into the next call as `first`; None: this was the last page.
    """

    groups: tuple[GroupFilling, ...]
    total: int
    joining: int
    now_ms: int
    after: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flushed:
    """What a flush did: how many batches were made of how many members. `more`: the group has further members."""

    batches: int
    members: int
    more: bool


class KeyWait(StrEnum):
    """What the ready jobs of a limit key wait for."""

    TURN = "turn"
    CONCURRENCY = "concurrency"
    RATE = "rate"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitKey:
    """A limit key with ready jobs. `free_ms`: when its rate lets the next one through; None: now, or not known."""

    key: str
    ready: int
    working: int
    weight: int
    waits_for: KeyWait
    free_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitKeyPage:
    """A page of limit keys. `total`: all that have ready jobs, `throttled` of which are at a limit.

    `queue_free_ms`: when the queue's own rate lets the next job through; None: now. `after` goes into the next call as
    `first`; None: this was the last page.
    """

    keys: tuple[LimitKey, ...]
    total: int
    throttled: int
    queue_free_ms: int | None
    now_ms: int
    after: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitKeysFound:
    """A page of the limit keys that begin with a text, in order of their bytes; otherwise as LimitKeyPage.

    `after`: the last of them, if there are more.
    """

    keys: tuple[LimitKey, ...]
    queue_free_ms: int | None
    now_ms: int
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Distributions:
    """Of the last ten minutes. `wait`: due → consumed; `run`: consumed → acked."""

    wait: Spread
    run: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadHead:
    """Number of dead letters and the oldest of them ("" when there is none)."""

    size: int
    job_id: str
