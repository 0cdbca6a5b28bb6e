"""Who waits for jobs and who works on one, as far as a person may see it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address
from itertools import zip_longest
from typing import Final

from django.db import connections

from queues.engine import WaitingReport, WorkingJob, WorkingJobs, held_queues, list_waiting, list_working
from queues.engine.errors import TaskqError
from queues.engine.keys import QueueKeys
from queues.engine.stats.consumers import WaitingConsumer
from queues.pools import find_pool, reading_engine_for

from ...pools.ttl_cache import Recent
from ..permissions import User, places_of

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


HELD_PER_PARTITION: Final = 500
QUEUES_LOOKED_AT: Final = 250
JOBS_PER_QUEUE: Final = 20
"""Of each pool: queues with jobs in hand, those whose leases end first coming first; and of each queue so many jobs."""

ROWS_SHOWN: Final = 250
RECENT_S: Final = 1.5
"""What all viewers share is read again no sooner."""

POOLS_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumersView:
    """What there is to see, and sums over all of it before `text` and `state` narrow it.

    `more`: there is more than is listed. `away`: pools that do not answer.
    """

    consumers: tuple[ConsumerRow, ...]
    queues: tuple[QueueRow, ...]
    namespaces: tuple[tuple[str, str], ...]
    waiting: int
    working: int
    overdue: int
    more: bool
    away: tuple[str, ...]


def read_consumers(*, user: User, namespace: str = "", text: str = "", state: str = "") -> ConsumersView:
    """Consumers and queues of the namespaces that `user` may see; of one, if `namespace` (`pool/name`) says so.

    `text`: part of a consumer's name, address, queue or namespace. `state`: waiting, working, overdue, away or "".
    Two round trips to each pool. Raises MetadataUnavailableError; StoreUnavailableError if no pool answers.
    """
    visible = tuple(places_of(user=user))
    chosen = [place for place in visible if not namespace or "/".join(place) == namespace]
    by_pool: dict[str, set[str]] = {}
    for pool, name in chosen:
        by_pool.setdefault(pool, set()).add(name)
    read = _read_pools(by_pool)
    found = [presence for presence in read if isinstance(presence, PoolPresence)]
    errors = [error for error in read if isinstance(error, TaskqError)]
    if errors and not found:
        raise errors[0]
    consumers = [row for presence in found for row in consumer_rows(presence)]
    queues = [row for presence in found for row in queue_rows(presence)]
    listed = [row for row in consumers if row.matches(text) and (not state or row.state == state)]
    listed_queues = [row for row in queues if row.matches(text) and (not state or row.is_in(state))]
    return ConsumersView(
        consumers=tuple(sorted(listed, key=ConsumerRow.order)[:ROWS_SHOWN]),
        queues=tuple(sorted(listed_queues, key=QueueRow.order)[:ROWS_SHOWN]),
        namespaces=visible,
        waiting=sum(row.waiting for row in consumers),
        working=sum(row.working for row in queues),
        overdue=sum(row.overdue for row in queues),
        more=any(presence.more for presence in found) or max(len(listed), len(listed_queues)) > ROWS_SHOWN,
        away=tuple(pool for pool, answer in zip(by_pool, read, strict=True) if isinstance(answer, TaskqError)),
    )


def _read_pools(by_pool: dict[str, set[str]]) -> list[PoolPresence | TaskqError]:
    """Side by side, so that a dead pool delays no other."""
    if not by_pool:
        return []
    for pool in by_pool:
        find_pool(pool)  # so that the threads find the row in memory and need no database connection
    with ThreadPoolExecutor(max_workers=min(len(by_pool), POOLS_AT_ONCE)) as threads:
        return list(threads.map(_read_pool, by_pool.keys(), by_pool.values()))


def _read_pool(pool: str, namespaces: Collection[str]) -> PoolPresence | TaskqError:
    try:
        report, held = _recent.get(pool, lambda: _ask(pool))
        theirs = [queue for queue in held if queue.namespace in namespaces]
        operations = [list_working(queue, limit=JOBS_PER_QUEUE) for queue in theirs[:QUEUES_LOOKED_AT]]
        found: list[WorkingJobs] = reading_engine_for(pool).batch(operations) if operations else []
    except TaskqError as error:
        return error
    finally:
        connections.close_all()  # those of this thread, if it needed any after all
    return PoolPresence(
        pool=pool,
        namespaces=frozenset(namespaces),
        report=report,
        queues=tuple(theirs[:QUEUES_LOOKED_AT]),
        working=tuple(found),
        more=len(theirs) > QUEUES_LOOKED_AT or any(len(of_queue.jobs) < of_queue.total for of_queue in found),
    )


def _ask(pool: str) -> tuple[WaitingReport, Sequence[QueueKeys]]:
    """Who waits, and which queues may have jobs in hand, of all namespaces: in one round trip."""
    engine = reading_engine_for(pool)
    partitions = range(engine.layout.partitions)
    report, *held = engine.batch(
        [list_waiting(), *[held_queues(engine.layout, number, limit=HELD_PER_PARTITION) for number in partitions]]
    )
    return report, [queue for row in zip_longest(*held) for queue in row if queue is not None]


_recent: Recent[str, tuple[WaitingReport, Sequence[QueueKeys]]] = Recent(RECENT_S)
