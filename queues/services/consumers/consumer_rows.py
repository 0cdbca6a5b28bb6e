"""Rows of the pages of consumers: by consumer and by queue, made of what was read of a pool. Reads nothing itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address
from typing import Final

from queues.engine import WaitingReport, WorkingJob, WorkingJobs
from queues.engine.keys import QueueKeys
from queues.engine.stats.consumers import WaitingConsumer

NEVER_MS: Final = 2**53
"""Later than any time that is told."""


class ConsumerState(StrEnum):
    """What a consumer does, what matters most coming first."""

    OVERDUE = "overdue"
    """It holds a job although its lease is over."""
    WORKING = "working"
    WAITING = "waiting"
    AWAY = "away"
    """It did wait lately."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPresence:
    """What a pool says. `working`: of each of `queues`. `more`: there is more than it says."""

    pool: str
    namespaces: frozenset[str]
    report: WaitingReport
    queues: Sequence[QueueKeys]
    working: Sequence[WorkingJobs]
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerRow:
    """A consumer of a namespace, by the name that it gives; one that gives none is known by its address.

    `waiting`: calls that wait. `since_ms`: when it was first seen, `left_ms`: when it last stopped waiting, if it was
    seen to wait (both by the Redis server's clock). `jobs`: those in its hands, as far as they are listed; `overdue` of
    them.
    """

    pool: str
    namespace: str
    consumer: str
    addresses: tuple[str, ...]
    queues: tuple[str, ...]
    queues_unnamed: int
    waiting: int
    since_ms: int
    left_ms: int | None
    jobs: tuple[WorkingJob, ...]
    overdue: int

    @property
    def state(self) -> ConsumerState:
        """The most pressing of what it does."""
        if self.jobs:
            return ConsumerState.OVERDUE if self.overdue else ConsumerState.WORKING
        return ConsumerState.WAITING if self.waiting else ConsumerState.AWAY

    def order(self) -> tuple[int, str, str, str]:
        """The most pressing first, then by name, so that rows stay where they are."""
        return list(ConsumerState).index(self.state), self.pool, self.namespace, self.consumer

    def matches(self, text: str) -> bool:
        """Whether `text` is part of a name or address in it."""
        return _any_has(text, (self.consumer, self.namespace, *self.addresses, *self.queues))


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """A queue that somebody waits on or that has jobs in hand. `oldest_ms`: since when the longest of them is held."""

    pool: str
    namespace: str
    queue: str
    waiting: int
    working: int
    overdue: int
    oldest_ms: int | None
    consumers: tuple[str, ...]

    def is_in(self, state: str) -> bool:
        """Whether there is something of that state in it."""
        return {"overdue": self.overdue, "working": self.working, "waiting": self.waiting}.get(state, 0) > 0

    def order(self) -> tuple[bool, str, str, str]:
        """Those with overdue jobs first, then by name."""
        return not self.overdue, self.pool, self.namespace, self.queue

    def matches(self, text: str) -> bool:
        """Whether `text` is part of a name in it."""
        return _any_has(text, (self.queue, self.namespace, *self.consumers))


def consumer_rows(presence: PoolPresence) -> list[ConsumerRow]:
    """One row for each consumer."""
    drafts: defaultdict[tuple[str, str], _Draft] = defaultdict(_Draft)
    now_ms = presence.report.now_ms
    for told in _told(presence):
        drafts[told.namespace, told.consumer].add_waiting(told, now_ms)
    for of_queue in presence.working:
        for job in of_queue.jobs:
            drafts[job.namespace, job.consumer].add_job(job, of_queue.now_ms)
    return [
        ConsumerRow(
            pool=presence.pool,
            namespace=namespace,
            consumer=consumer,
            addresses=tuple(draft.addresses) or _as_address(consumer),
            queues=tuple(draft.queues),
            queues_unnamed=draft.queues_unnamed,
            waiting=draft.waiting,
            since_ms=draft.since_ms,
            left_ms=None if draft.waiting else draft.left_ms,
            jobs=tuple(draft.jobs),
            overdue=draft.overdue,
        )
        for (namespace, consumer), draft in drafts.items()
    ]


def queue_rows(presence: PoolPresence) -> list[QueueRow]:
    """One row for each queue."""
    waiting: defaultdict[tuple[str, str], int] = defaultdict(int)
    consumers: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    held: dict[tuple[str, str], WorkingJobs] = {}
    for beat in presence.report.beats:
        for told in beat.queues:
            if told.namespace in presence.namespaces:
                waiting[told.namespace, told.queue] += told.waiting
    for one in _told(presence):
        if one.waiting:
            for name in one.queues:
                consumers[one.namespace, name].add(one.consumer)
    for queue, of_queue in zip(presence.queues, presence.working, strict=True):
        if of_queue.total:
            held[queue.namespace, queue.queue] = of_queue
            consumers[queue.namespace, queue.queue].update(job.consumer for job in of_queue.jobs)
    rows = []
    for namespace, name in {*waiting, *held}:
        of_queue = held.get((namespace, name), WorkingJobs(jobs=(), total=0, now_ms=0))
        rows.append(
            QueueRow(
                pool=presence.pool,
                namespace=namespace,
                queue=name,
                waiting=waiting.get((namespace, name), 0),
                working=of_queue.total,
                overdue=sum(job.lease_end_ms < of_queue.now_ms for job in of_queue.jobs),
                oldest_ms=min((job.taken_ms for job in of_queue.jobs), default=None),
                consumers=tuple(sorted(consumers[namespace, name])),
            )
        )
    return rows


@dataclass(slots=True)
class _Draft:
    """What is known of one consumer so far."""

    addresses: dict[str, None] = field(default_factory=dict)
    queues: dict[str, None] = field(default_factory=dict)
    queues_unnamed: int = 0
    waiting: int = 0
    since_ms: int = NEVER_MS
    left_ms: int | None = None
    jobs: list[WorkingJob] = field(default_factory=list)
    overdue: int = 0

    def add_waiting(self, told: WaitingConsumer, now_ms: int) -> None:
        if told.address:
            self.addresses[told.address] = None
        self.queues.update(dict.fromkeys(told.queues))
        self.queues_unnamed += told.queues_unnamed
        self.waiting += told.waiting
        self.since_ms = min(self.since_ms, now_ms - told.since_ms)
        self.left_ms = max(now_ms - told.left_ms, 0 if self.left_ms is None else self.left_ms)

    def add_job(self, job: WorkingJob, now_ms: int) -> None:
        self.queues[job.queue] = None
        self.jobs.append(job)
        self.since_ms = min(self.since_ms, job.taken_ms)
        self.overdue += job.lease_end_ms < now_ms


def _as_address(consumer: str) -> tuple[str, ...]:
    """A consumer that gives no name is called by its address."""
    try:
        return (str(ip_address(consumer)),)
    except ValueError:
        return ()


def _told(presence: PoolPresence) -> Iterator[WaitingConsumer]:
    """What all processes said of the namespaces that count."""
    for beat in presence.report.beats:
        for told in beat.consumers:
            if told.namespace in presence.namespaces:
                yield told


def _any_has(text: str, names: Sequence[str]) -> bool:
    needle = text.strip().casefold()
    return not needle or any(needle in name.casefold() for name in names)
