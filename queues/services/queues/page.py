"""What the page of one queue shows: counts, minutes, distributions, jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from queues.engine import (
    GroupPage,
    JobDetail,
    JobFilter,
    JobState,
    QueueStats,
    count_jobs,
    detail,
    distributions,
    list_groups,
    list_jobs,
    scan_jobs,
    stats,
)
from queues.engine.errors import InvalidArgumentError
from queues.engine.keys import QueueKeys
from queues.engine.names import check_queue, is_job_id
from queues.engine.operation import Plan
from queues.engine.queue_values import Distributions
from queues.engine.stats.minutes import MINUTE_MS, Minute
from queues.pools import reading_engine_for

from ..errors import NamespaceNotFoundError
from ..permissions import Role, User, role_in
from ..policies import EffectivePolicy, policy_for
from .limit_keys import QueueLimitView, first_limit_keys, view_limits
from .minute_history import history_of_queue

PAGE_JOBS: Final = 50
GROUPS_SHOWN: Final = 20

STRETCHES: Final = 10
"""So many stretches of a scan (up to `limits.SCAN_LOOKS` jobs each) a page looks through; the reader asks for more."""

NO_FILTER: Final = JobFilter()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePlace:
    """A queue as a person names it, and what they may do there."""

    pool: str
    namespace: str
    queue: str
    role: Role

    @property
    def may_operate(self) -> bool:
        return self.role >= Role.OPERATE

    @property
    def may_administer(self) -> bool:
        return self.role >= Role.ADMIN


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueNow:
    """How the queue is doing at this moment, which policy holds for it, and whom its limits hold up."""

    place: QueuePlace
    stats: QueueStats
    policy: EffectivePolicy
    limits: QueueLimitView
    groups: GroupPage
    """The first of the groups that fill."""

    @property
    def jobs(self) -> int:
        """How many it has, in all states."""
        return sum(self.stats.counts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsFound:
    """Some jobs of one state. `after` goes into the next call; None: there are no more.

    `looked_at` of `size` jobs in that state were held against the filter; without one, both say nothing.
    """

    jobs: tuple[JobDetail, ...]
    after: str | None
    looked_at: int = 0
    size: int = 0


def find_place(*, user: User, pool: str, namespace: str, queue: str) -> QueuePlace:
    """Raises NamespaceNotFoundError for what the person may not see, and for what no queue can be called."""
    role = role_in(user=user, pool=pool, namespace=namespace)
    try:
        check_queue(queue)
    except InvalidArgumentError:
        raise NamespaceNotFoundError from None
    return QueuePlace(pool=pool, namespace=namespace, queue=queue, role=role)


def count_states(*, place: QueuePlace) -> Mapping[JobState, int]:
    """Its jobs by state. Raises StoreUnavailableError."""
    engine = reading_engine_for(place.pool)
    return engine.run(count_jobs(engine.queue(place.namespace, place.queue)))


def read_queue_now(*, place: QueuePlace) -> QueueNow:
    """One round trip. Raises StoreUnavailableError, MetadataUnavailableError."""
    engine = reading_engine_for(place.pool)
    policy = policy_for(pool=place.pool, namespace=place.namespace, queue=place.queue)
    queue = engine.queue(place.namespace, place.queue)
    now, keys, groups = engine.batch(
        [stats(queue), first_limit_keys(queue, policy), list_groups(queue, limit=GROUPS_SHOWN)]
    )
    limits = view_limits(policy=policy, now=now, page=keys)
    return QueueNow(place=place, stats=now, policy=policy, limits=limits, groups=groups)


def read_minutes(*, place: QueuePlace, minutes: int) -> tuple[Minute, ...]:
    """The last whole minutes as the pump recorded them, and the last 60 s as if they were the next one.

    Raises StoreUnavailableError.
    """
    past = history_of_queue(pool=place.pool, namespace=place.namespace, queue=place.queue, minutes=minutes).minutes
    engine = reading_engine_for(place.pool)
    now = engine.run(stats(engine.queue(place.namespace, place.queue)))
    running = Minute(
        at_ms=now.now_ms - MINUTE_MS,
        published=round(now.published_per_s * 60),
        consumed=round(now.consumed_per_s * 60),
        acked=round(now.acked_per_s * 60),
        failed=round(now.failed_per_s * 60),
        jobs=now.counts,
    )
    return (*(minute for minute in past if minute.at_ms < running.at_ms), running)


def read_distributions(*, place: QueuePlace) -> Distributions:
    """How the waits and runs of the last minutes are spread. Raises StoreUnavailableError."""
    engine = reading_engine_for(place.pool)
    return engine.run(distributions(engine.queue(place.namespace, place.queue)))


def count_jobs_in(*, place: QueuePlace, state: JobState) -> int:
    """How many jobs of the queue are in `state`. Raises StoreUnavailableError."""
    engine = reading_engine_for(place.pool)
    return engine.run(count_jobs(engine.queue(place.namespace, place.queue)))[state]


def find_jobs(
    *,
    place: QueuePlace,
    state: JobState,
    wanted: JobFilter = NO_FILTER,
    after: str | None = None,
    latest_first: bool = False,
) -> JobsFound:
    """A page of the jobs in `state`, those that match `wanted`, in a bounded number of round trips.

    In their order: next to be delivered, due, or ended first; or in the opposite one.
    Raises InvalidArgumentError, StoreUnavailableError.
    """
    engine = reading_engine_for(place.pool)
    queue = engine.queue(place.namespace, place.queue)
    if wanted == NO_FILTER:
        page = engine.run(list_jobs(queue, state, after=after, limit=PAGE_JOBS, latest_first=latest_first))
        return JobsFound(jobs=page.jobs, after=page.after)
    job_id = wanted.job_id.upper()
    if is_job_id(job_id) and wanted == JobFilter(job_id=wanted.job_id):
        found = engine.run(detail(queue, job_id))
        return JobsFound(jobs=(found,) if found and found.state is state else (), after=None, looked_at=1, size=1)
    return engine.run(_scan(queue, state, wanted, after, latest_first))


def _scan(
    queue: QueueKeys, state: JobState, wanted: JobFilter, after: str | None, latest_first: bool
) -> Plan[JobsFound]:
    jobs: list[JobDetail] = []
    looked_at = size = 0
    for _ in range(STRETCHES):
        limit = PAGE_JOBS - len(jobs)
        (part,) = yield [scan_jobs(queue, state, wanted, after=after, limit=limit, latest_first=latest_first)]
        jobs += part.jobs
        looked_at += part.looked_at
        after, size = part.after, part.size
        if after is None or len(jobs) >= PAGE_JOBS:
            break
    return JobsFound(jobs=tuple(jobs), after=after, looked_at=looked_at, size=size)
