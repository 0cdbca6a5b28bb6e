"""What a person may do with jobs: publish one, act on one, on a page of them, or on all that a filter matches.

Each act is checked, and recorded in the activity log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from queues.engine import (
    JobDetail,
    JobFilter,
    JobState,
    Rescheduled,
    ack_attempt,
    constants,
    delete_jobs,
    publish,
    release,
    reschedule,
    respawn,
    scan_jobs,
)
from queues.engine.errors import InvalidArgumentError, JobNotFoundError, LeaseLostError, TaskqError
from queues.engine.keys import QueueKeys
from queues.engine.operation import Apart, Operation, PacedApart, Plan
from queues.engine.values import AckOutcome, AckResult, Published
from queues.pools import engine_for

from ..activity import ALL_OF_STATE, BY_BODY, ActivityAction, note_activity
from ..errors import RoleTooLowError
from ..permissions import Role, User
from ..policies import policy_for
from ..queues.actions import need
from ..queues.page import QueuePlace
from .publishing import PublishRequest, effective_options

SELECTED_MAX: Final = 500
"""Jobs that one act may name, or one batch of an act on a whole filter may find."""


class JobAct(StrEnum):
    """`retry`: make a delayed job, or one between its tries, ready now."""

    ACK = "ack"
    RETRY = "retry"
    RELEASE = "release"
    RESCHEDULE = "reschedule"
    RESPAWN = "respawn"
    DELETE = "delete"


ACTS: Final[Mapping[JobState, tuple[JobAct, ...]]] = {
    JobState.READY: (JobAct.DELETE,),
    JobState.DELAYED: (JobAct.RETRY, JobAct.RESCHEDULE, JobAct.DELETE),
    JobState.RETRY: (JobAct.RETRY, JobAct.RESCHEDULE, JobAct.DELETE),
    JobState.WORKING: (JobAct.ACK, JobAct.RELEASE, JobAct.DELETE),
    JobState.DEAD: (JobAct.RESPAWN, JobAct.DELETE),
    JobState.COMPLETED: (JobAct.DELETE,),
    JobState.BLOCKED: (JobAct.DELETE,),
    JobState.GROUPED: (JobAct.DELETE,),
}
"""What the state of a job allows."""

ACTS_ON_ALL: Final[Mapping[JobState, tuple[JobAct, ...]]] = {**ACTS, JobState.WORKING: ()}
"""What may be done to all jobs of a state. None to working ones: consumers would take new ones all the while."""

_NOTED: Final[Mapping[JobAct, ActivityAction]] = {
    JobAct.ACK: ActivityAction.ACKED,
    JobAct.RETRY: ActivityAction.RETRIED,
    JobAct.RELEASE: ActivityAction.RELEASED,
    JobAct.RESCHEDULE: ActivityAction.RESCHEDULED,
    JobAct.RESPAWN: ActivityAction.RESPAWNED,
    JobAct.DELETE: ActivityAction.DELETED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenJob:
    """A job as the person saw it. `attempt`: which one held it then (0: none), so that a later one is left alone."""

    job_id: str
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be done with jobs of `state`.

    A reschedule is to `at_ms` or, without it, `delay_ms` from now. `ttl_s`: of a respawn; None: the policy's.
    """

    act: JobAct
    state: JobState
    at_ms: int | None = None
    delay_ms: int = 0
    ttl_s: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDone:
    """One batch of an act on a whole filter. `cursor` (None: it was the last) and `before_ms` go into the next."""

    done: int
    looked_at: int
    size: int
    cursor: str | None
    before_ms: int | None


def act_on_jobs(*, user: User, place: QueuePlace, order: Order, jobs: Sequence[ChosenJob]) -> int:
    """Do it to the jobs that still are as they were; their number. Raises RoleTooLowError, InvalidArgumentError."""
    check_act_on_jobs(place=place, order=order, jobs=jobs)
    engine = engine_for(place.pool)
    queue = engine.queue(place.namespace, place.queue)
    done = engine.run(_carry_out(queue, order, _ttl_ms(place, order), jobs))
    _note(user, place, order, done, target=jobs[0].job_id if len(jobs) == 1 else "")
    return done


def act_on_matches(
    *,
    user: User,
    place: QueuePlace,
    order: Order,
    wanted: JobFilter,
    after: str | None = None,
    before_ms: int | None = None,
    act_id: str = "",
) -> BatchDone:
    """The next batch of doing it to all jobs of the state that match. Raises as act_on_jobs.

    Deleting so is an administrator's: it may empty the queue. Jobs that came, were taken or died after `before_ms`
    (None: the beginning) are not meant: what is respawned and dies again would be respawned for ever. They are looked
    at all the same, so callers stop after as many jobs as there were (`size`) at the beginning. `act_id` names the act.
    """
    check_act_on_matches(place=place, order=order)
    engine = engine_for(place.pool)
    queue = engine.queue(place.namespace, place.queue)
    part = engine.run(scan_jobs(queue, order.state, wanted, after=after, limit=SELECTED_MAX))
    if before_ms is None and part.jobs:
        before_ms = part.jobs[0].now_ms
    if order.act is JobAct.RESCHEDULE and order.at_ms is None and before_ms is not None:
        order = replace(order, at_ms=before_ms + order.delay_ms, delay_ms=0)  # the same for all batches
    chosen = [
        ChosenJob(job_id=job.job_id, attempt=job.attempt) for job in part.jobs if _is_meant(job, order, before_ms)
    ]
    done = engine.run(_carry_out(queue, order, _ttl_ms(place, order), chosen)) if chosen else 0
    _note(user, place, order, done, act_id=act_id, detail=_said(order, wanted))
    return BatchDone(done=done, looked_at=part.looked_at, size=part.size, cursor=part.after, before_ms=before_ms)


def check_act_on_jobs(*, place: QueuePlace, order: Order, jobs: Sequence[ChosenJob]) -> None:
    """Raises RoleTooLowError, InvalidArgumentError if the person may not do it, or these cannot be named at once."""
    _check(place, order, ACTS)
    if not 1 <= len(jobs) <= SELECTED_MAX:
        raise InvalidArgumentError("invalid job ids")


def check_act_on_matches(*, place: QueuePlace, order: Order) -> None:
    """Raises RoleTooLowError, InvalidArgumentError if the person may not do it, or the state does not allow it."""
    _check(place, order, ACTS_ON_ALL)
    if order.act is JobAct.DELETE and not place.may_administer:
        raise RoleTooLowError


def _is_meant(job: JobDetail, order: Order, before_ms: int | None) -> bool:
    """Not those that came up again behind the cursor, because the act itself has moved them there."""
    if order.act is JobAct.RESCHEDULE and job.due_ms == order.at_ms:
        return False
    return before_ms is None or max(job.published_ms, job.taken_ms or 0, job.died_ms or 0) <= before_ms


def _check(place: QueuePlace, order: Order, allowed: Mapping[JobState, tuple[JobAct, ...]]) -> None:
    if not place.may_operate:
        raise RoleTooLowError
    if order.act not in allowed[order.state]:
        raise InvalidArgumentError(f"cannot {order.act} jobs that are {order.state}")


def _ttl_ms(place: QueuePlace, order: Order) -> int:
    """How long respawned jobs are to live: as asked, else the policy's, else taskq's default."""
    ttl_s = order.ttl_s
    if ttl_s is None and order.act is JobAct.RESPAWN:
        ttl_s = policy_for(pool=place.pool, namespace=place.namespace, queue=place.queue).ttl_s
    return 1000 * (constants.DEFAULT_TTL_S if ttl_s is None else ttl_s)


def _carry_out(queue: QueueKeys, order: Order, ttl_ms: int, jobs: Sequence[ChosenJob]) -> Plan[int]:
    ids = [job.job_id for job in jobs]
    if order.act is JobAct.DELETE:
        return (yield from delete_jobs(queue, ids, only=order.state.value))
    if order.act is JobAct.RESPAWN:
        return (yield from respawn(queue, ids=ids, ttl_ms=ttl_ms))
    if order.act in (JobAct.RETRY, JobAct.RESCHEDULE):
        is_now = order.act is JobAct.RETRY
        at_ms, delay_ms = (None, 0) if is_now else (order.at_ms, order.delay_ms)
        outcomes = yield from reschedule(queue, ids, at_ms=at_ms, delay_ms=delay_ms)
        return outcomes.count(Rescheduled.MOVED)
    ending: list[Operation[Any]] = [_ending(queue, order.act, job) for job in jobs]
    results = yield (PacedApart if len(ending) >= constants.ALONE_MIN_JOBS else Apart)(ending)
    return sum(_has_ended(result) for result in results)


def _ending(queue: QueueKeys, act: JobAct, job: ChosenJob) -> Operation[Any]:
    if act is JobAct.ACK:
        return ack_attempt(queue, job.job_id, attempt=job.attempt)
    return release(queue, job.job_id, attempt=job.attempt)


def _has_ended(result: AckResult | TaskqError | None) -> bool:
    """Whether the attempt was still the one that held the job. Raises what else went wrong."""
    if isinstance(result, LeaseLostError | JobNotFoundError):
        return False
    if isinstance(result, TaskqError):
        raise result
    return result is None or result.outcome is AckOutcome.ACKED


def _said(order: Order, wanted: JobFilter) -> str:
    """The filter, in words that a log can keep. Phrases first: that is how they are told from what somebody typed."""
    phrases = [ALL_OF_STATE[order.state], *([BY_BODY] if wanted.body else [])]
    fields = {"id": wanted.job_id, "key": wanted.key, "attribute": wanted.attribute, "error": wanted.error}
    return ", ".join([*phrases, *[f"{name}: {text}" for name, text in fields.items() if text]])


def _note(
    user: User, place: QueuePlace, order: Order, done: int, *, target: str = "", act_id: str = "", detail: str = ""
) -> None:
    if done:
        note_activity(
            user=user,
            action=_NOTED[order.act],
            pool=place.pool,
            namespace=place.namespace,
            queue=place.queue,
            target=target,
            count=done,
            detail=detail,
            act_id=act_id,
        )


def publish_by_hand(*, user: User, place: QueuePlace, body: bytes, request: PublishRequest) -> Published:
    """One job. Raises RoleTooLowError, InvalidArgumentError, StoreFullError."""
    need(place, Role.OPERATE)
    policy = policy_for(pool=place.pool, namespace=place.namespace, queue=place.queue)
    options = effective_options(request=request, policy=policy)
    engine = engine_for(place.pool)
    published = engine.run(publish(engine.queue(place.namespace, place.queue), [body], options))
    if not published.duplicate:
        note_activity(
            user=user,
            action=ActivityAction.PUBLISHED,
            pool=place.pool,
            namespace=place.namespace,
            queue=place.queue,
            target=published.job_ids[0],
            count=1,
        )
    return published
