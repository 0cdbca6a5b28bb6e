"""Searches all queues that a user may see for a job by its id."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from django.db import connections

from queues.engine import JobSearch, Waits, find_detail, find_job, list_waits
from queues.engine.errors import InvalidArgumentError, TaskqError
from queues.engine.keys import QueueKeys
from queues.engine.names import is_job_id
from queues.engine.operation import Plan
from queues.engine.values import JobDetail, JobState
from queues.pools import find_pool, reading_engine_for

from ..permissions import User, places_of, sees_everything


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedJob:
    """A job that a blocked one waits for. `name`: as in `depends_on`. `has_gone`: without an ack."""

    name: str
    has_gone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedJobs:
    """The first of the jobs that a blocked one waits for, and how many there are. `is_open`: more may be added."""

    jobs: tuple[AwaitedJob, ...] = ()
    total: int = 0
    is_open: bool = False


def get_job_and_awaited(*, queue: QueueKeys, job_id: str) -> Plan[tuple[JobDetail, AwaitedJobs] | None]:
    """All that is known of a job, with what it waits for; None if there is no such job."""
    job = yield from find_detail(queue, job_id)
    if job is None:
        return None
    if job.state is not JobState.BLOCKED:
        return job, AwaitedJobs()
    (found,) = yield [list_waits(queue, job_id=job_id)]
    return job, awaited_jobs(found)


def awaited_jobs(found: Waits) -> AwaitedJobs:
    """What a blocked job waits for."""
    waits = found.waits[found.is_open :]  # without the mark
    jobs = tuple([AwaitedJob(name=str(one.dependency), has_gone=one.state == "-") for one in waits])
    return AwaitedJobs(jobs=jobs, total=found.total - found.is_open, is_open=found.is_open)


LOOKS_MAX: Final = 20_000
"""How many queues of a pool are asked; a matter of half a second at most."""

_POOLS_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundJob:
    """Where a job is."""

    pool: str
    namespace: str
    queue: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """`found` None: there is no such job, unless `away` names pools that could not be asked, or `complete` is False
    because there were more queues than LOOKS_MAX."""

    found: FoundJob | None
    away: tuple[str, ...]
    complete: bool


def search_job(*, user: User, job_id: str) -> Search:
    """Look for a job in every namespace that `user` may see; pools side by side.

    Raises InvalidArgumentError for what is no job id, MetadataUnavailableError.
    """
    if not is_job_id(job_id):
        raise InvalidArgumentError("invalid job id")
    visible = dict.fromkeys(places_of(user=user))
    by_pool: dict[str, list[str]] = {}
    for pool, namespace in visible:
        by_pool.setdefault(pool, []).append(namespace)
    for pool in by_pool:
        find_pool(pool)  # so that the threads find the row in memory and need no database connection
    if not by_pool:
        return Search(found=None, away=(), complete=True)
    everywhere = sees_everything(user)
    with ThreadPoolExecutor(max_workers=min(len(by_pool), _POOLS_AT_ONCE)) as threads:
        searches = {
            pool: threads.submit(_search_pool, pool, None if everywhere else names, job_id)
            for pool, names in by_pool.items()
        }
        places = {pool: search.result() for pool, search in searches.items()}
    found = (
        FoundJob(pool=pool, namespace=place.queue.namespace, queue=place.queue.queue)
        for pool, place in places.items()
        if place is not None and place.queue is not None and (pool, place.queue.namespace) in visible
    )
    return Search(
        found=next(found, None),
        away=tuple(pool for pool, place in places.items() if place is None),
        complete=all(place is None or place.complete for place in places.values()),
    )


def _search_pool(pool: str, namespaces: Sequence[str] | None, job_id: str) -> JobSearch | None:
    """None: the pool cannot be asked."""
    try:
        engine = reading_engine_for(pool)
        return engine.run(find_job(engine.layout, namespaces, job_id, most=LOOKS_MAX))
    except TaskqError:
        return None
    finally:
        connections.close_all()  # those of this thread, if it needed any after all
