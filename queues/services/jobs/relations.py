"""What a job waits for, which jobs wait for it, and the workflow that it belongs to: for its page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from queues.engine import (
    Dependant,
    Engine,
    JobDetail,
    JobFilter,
    JobState,
    Operation,
    Scan,
    Wait,
    Waits,
    detail,
    find_key,
    list_job_dependants,
    scan_jobs,
)

SHOWN_MAX: Final = 50
"""Jobs of each kind that are looked up; the page says how many there are besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedJob:
    """A job that another one waits for, or that waits for another one. `key`: its name if it is known by its key.

    `job_id` empty: no job has the key (yet). `state` None: there is no such job, or it was acked and is not kept.
    `has_gone`: it ended without an ack, so that the wait for it does not end.
    """

    queue: str
    job_id: str
    key: str = ""
    state: JobState | None = None
    has_gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRelations:
    """The first of each kind. `awaits_total`, `awaited_by_total`: all; of the latter at least so many if `is_more`.
    `is_open`: more dependencies may be added."""

    awaits: tuple[RelatedJob, ...] = ()
    awaits_total: int = 0
    is_open: bool = False
    awaited_by: tuple[RelatedJob, ...] = ()
    awaited_by_total: int = 0
    is_more: bool = False
    workflow_id: str = ""


Dependants = tuple[str, tuple[Dependant, ...]]
"""As `list_job_dependants` answers."""


def read_relations(*, engine: Engine, job: JobDetail, waits: Waits, dependants: Dependants) -> JobRelations:
    """Up to two round trips; none if the job has no relations. `dependants`: those that name the job by its id."""
    queue = engine.queue(job.namespace, job.queue)
    waited = waits.waits[waits.is_open :] if waits.is_blocked else ()  # without the mark of an open job
    awaits = [_awaited(wait) for wait in waited[:SHOWN_MAX]]
    keyed = [place for place, one in enumerate(awaits) if one.key]
    first = [find_key(engine.queue(job.namespace, awaits[place].queue), awaits[place].key) for place in keyed]
    by_key: Sequence[Operation[Any]] = [list_job_dependants(queue, key=job.key)] if job.key else []
    answers = engine.batch([*first, *by_key]) if first or by_key else []
    for place, job_id in zip(keyed, answers[: len(first)], strict=True):
        awaits[place] = replace(awaits[place], job_id=job_id or "")
    pages: list[Dependants] = [dependants, *answers[len(first) :]]
    found = [one for _, page in pages for one in page]
    jobs = [one for one in found if not one.is_workflow]
    awaited_by = [RelatedJob(queue=_queue_of(one), job_id=one.job_id) for one in jobs[:SHOWN_MAX]]
    located = _with_states(engine, job.namespace, [*awaits, *awaited_by])
    return JobRelations(
        awaits=tuple(located[: len(awaits)]),
        awaits_total=waits.total - waits.is_open if waits.is_blocked else 0,
        is_open=waits.is_blocked and waits.is_open,
        awaited_by=tuple(located[len(awaits) :]),
        awaited_by_total=len(jobs),
        is_more=any(more for more, _ in pages),
        workflow_id=next((one.job_id for one in found if one.is_workflow), ""),
    )


def _awaited(wait: Wait) -> RelatedJob:
    needed = wait.dependency
    return RelatedJob(queue=needed.queue, job_id=needed.job_id, key=needed.key, has_gone=wait.state == "-")


def _queue_of(dependant: Dependant) -> str:
    return dependant.queue.partition("/")[2]


def _with_states(engine: Engine, namespace: str, jobs: Sequence[RelatedJob]) -> list[RelatedJob]:
    there = [place for place, one in enumerate(jobs) if one.job_id]
    asked = [detail(engine.queue(namespace, jobs[place].queue), jobs[place].job_id, preview=0) for place in there]
    found = list(jobs)
    for place, job in zip(there, engine.batch(asked) if asked else [], strict=True):
        if job is not None:
            found[place] = replace(found[place], state=job.state)
    return found


SAME_KEY_SHOWN: Final = 5
"""Jobs of each state with the same key that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SameKey:
    """Other jobs of the queue with the key of a job. `is_whole`: each state was looked through to its end."""

    jobs: tuple[JobDetail, ...] = ()
    is_whole: bool = True


def read_same_key(*, engine: Engine, job: JobDetail) -> SameKey:
    """One round trip, which looks through a bounded stretch of each state; none for a job without a key."""
    if not job.key:
        return SameKey()
    queue = engine.queue(job.namespace, job.queue)
    wanted = JobFilter(key=job.key)
    parts: Sequence[Scan] = engine.batch(
        [scan_jobs(queue, state, wanted, limit=SAME_KEY_SHOWN + 1) for state in JobState]
    )
    found = [one for part in parts for one in part.jobs if one.key == job.key and one.job_id != job.job_id]
    return SameKey(
        jobs=tuple(sorted(found, key=lambda one: one.job_id, reverse=True)),
        is_whole=all(part.after is None for part in parts),
    )
