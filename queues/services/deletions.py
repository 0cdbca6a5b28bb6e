"""Deletes jobs ten seconds after a person asked for it, so that it can be undone until then.

The request is a database row; pumps carry it out, or the pages process where no pump runs, so it does not matter
whether the page stays open. Until then the jobs stay where they are, whole: consumers may still take them, and a job
that has changed its state by then, or is another consumer's work, is skipped. A row is claimed by a compare-and-set.
A process that dies in between leaves its claim, which another one takes over after STALE; to delete a job a second
time changes nothing. Dead letters that were respawned and have died again are not the ones that were selected. But a
queue is emptied once, or not at all: later, or a second time, it would lose jobs that have arrived since.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from django.db.models import F, Q
from django.utils import timezone

from queues.engine import JobFilter, JobState, detail, scan_jobs, stats
from queues.engine.errors import StoreUnavailableError
from queues.models import DeletionKind, DeletionPhase, PendingDeletion
from queues.pools import engine_for
from queues.pools.database import read_metadata

from .dead_letters.actions import (
    NEEDED_FOR_ALL,
    DeadVerb,
    act_on_all,
    act_on_selected,
    check_act_on_selected,
)
from .dead_letters.filtering import DeadFilter, QueueAddress, find_dead_queues, read_filter, read_position
from .errors import (
    DeletionNotFoundError,
    InvalidArgumentError,
    MetadataUnavailableError,
    NamespaceNotFoundError,
    RoleTooLowError,
    TaskqError,
)
from .jobs.actions import (
    ChosenJob,
    JobAct,
    Order,
    act_on_jobs,
    act_on_matches,
    check_act_on_jobs,
    check_act_on_matches,
)
from .permissions import Role, User, role_in
from .queues.actions import empty_whole_queue, need
from .queues.page import QueuePlace, find_place

logger = logging.getLogger(__name__)

Deletion: TypeAlias = PendingDeletion

UNDO_S: Final = 10
"""How long a deletion can be undone."""

STALE: Final = timedelta(seconds=60)
"""A claim older than this is of a process that is gone."""

KEPT: Final = timedelta(minutes=10)
"""For how long what became of a deletion is shown and kept."""

EMPTIED_WITHIN: Final = timedelta(minutes=2)
"""A queue whose emptying has been due for longer is not emptied: a server that was stopped for an hour would lose what
was published in that hour."""

LEFT_OUT: Final = "left_out"
"""The error of a deletion that is complete but for the pools that did not answer; `progress` names them."""

INTERRUPTED: Final = "interrupted"
"""The error of a queue that was not emptied in time, or whose emptying may have been cut short."""

OWN_MAX: Final = 100
"""Deletions of one user that are not over: more would keep the others' waiting."""

ROWS_PER_TURN: Final = 20
BATCHES_PER_TURN: Final = 20


def defer_jobs(*, user: User, place: QueuePlace, order: Order, jobs: Sequence[ChosenJob]) -> PendingDeletion:
    """Delete selected jobs. Raises as act_on_jobs."""
    check_act_on_jobs(place=place, order=order, jobs=jobs)
    ids = [job.job_id for job in jobs]
    asked: dict[str, Any] = {"ids": ids, "attempts": {job.job_id: job.attempt for job in jobs if job.attempt}}
    if order.state is JobState.DEAD:
        asked["deaths"] = _deaths_of(place.pool, place.namespace, place.queue, ids)
    return _defer(user, DeletionKind.JOBS, len(ids), asked, place=place, state=order.state)


def defer_matches(*, user: User, place: QueuePlace, order: Order, wanted: JobFilter) -> PendingDeletion:
    """Delete all jobs of a state that match, but those that come from now on. Raises as act_on_matches."""
    check_act_on_matches(place=place, order=order)
    engine = engine_for(place.pool)
    queue = engine.queue(place.namespace, place.queue)
    scan_jobs(queue, order.state, wanted)  # or it would fail only when it can no longer be undone
    now = engine.run(stats(queue))
    words = {name: text for name, text in asdict(wanted).items() if text}
    asked = {"filter": words, "before_ms": now.now_ms}
    return _defer(user, DeletionKind.MATCHES, now.counts[order.state], asked, place=place, state=order.state)


def defer_empty(*, user: User, place: QueuePlace) -> PendingDeletion:
    """Empty a queue of all jobs that it has by then. Raises RoleTooLowError."""
    need(place, Role.ADMIN)
    engine = engine_for(place.pool)
    now = engine.run(stats(engine.queue(place.namespace, place.queue)))
    return _defer(user, DeletionKind.QUEUE, sum(now.counts.values()), {}, place=place)


def defer_dead_letters(*, user: User, letters: Sequence[str]) -> PendingDeletion:
    """Delete selected dead letters `POOL/NAMESPACE/QUEUE/JOB_ID`. Raises as act_on_selected."""
    chosen = check_act_on_selected(user=user, verb=DeadVerb.DELETE, letters=letters)
    asked = {"letters": list(letters), "deaths": _deaths_of_letters(chosen)}
    return _defer(user, DeletionKind.DEAD_LETTERS, len(letters), asked, state=JobState.DEAD)


def defer_dead_matches(*, user: User, chosen: DeadFilter) -> PendingDeletion:
    """Delete all dead letters that a filter matches and that have died by now. Raises as act_on_all."""
    found = find_dead_queues(user=user, chosen=chosen)
    if found.queues and not any(one.role >= NEEDED_FOR_ALL[DeadVerb.DELETE] for one in found.queues):
        raise RoleTooLowError
    day = chosen.day.isoformat() if chosen.day else ""
    words = {name: text for name, text in (asdict(chosen) | {"day": day}).items() if text}
    asked = {"filter": words, "before_ms": found.before_ms}
    return _defer(user, DeletionKind.DEAD_MATCHES, found.count, asked, state=JobState.DEAD)


def _defer(
    user: User,
    kind: DeletionKind,
    count: int,
    request: Mapping[str, Any],
    *,
    place: QueuePlace | None = None,
    state: JobState | None = None,
) -> PendingDeletion:
    own = PendingDeletion.objects.filter(user_id=int(user.pk or 0), phase__in=_UNFINISHED)
    if read_metadata(own.count) >= OWN_MAX:
        raise InvalidArgumentError("too many deletions are waiting")
    names = {} if place is None else {"pool": place.pool, "namespace": place.namespace, "queue": place.queue}
    row = PendingDeletion(
        user_id=int(user.pk or 0),
        kind=kind,
        count=count,
        request=dict(request),
        job_state="" if state is None else state.value,
        due_at=timezone.now() + timedelta(seconds=UNDO_S),
        **names,
    )
    read_metadata(row.save)
    return row


def undo_deletion(*, user: User, pk: int) -> bool:
    """Delete nothing after all; False: it is too late. By who asked for it, or an operator of the queue.

    Raises DeletionNotFoundError, RoleTooLowError.
    """
    _check_may_change(user, pk)
    waiting = PendingDeletion.objects.filter(pk=pk, phase=DeletionPhase.WAITING)
    changes = {"phase": DeletionPhase.UNDONE, "ended_at": timezone.now()}
    return bool(read_metadata(lambda: waiting.update(**changes)))


def retry_deletion(*, user: User, pk: int) -> bool:
    """Look once more through the pools of a deletion that left some out. False: it has none left out.

    What died after the deletion was asked for still stays. Raises as undo_deletion.
    """
    _check_may_change(user, pk)
    failed = PendingDeletion.objects.filter(pk=pk, phase=DeletionPhase.FAILED, error=LEFT_OUT)
    changes: dict[str, Any] = {"phase": DeletionPhase.RUNNING, "error": "", "progress": {}, "ended_at": None}
    return bool(read_metadata(lambda: failed.update(**changes)))


def _check_may_change(user: User, pk: int) -> None:
    row = read_metadata(PendingDeletion.objects.filter(pk=pk).first)
    if row is None:
        raise DeletionNotFoundError
    if row.user_id != user.pk:
        try:
            role = role_in(user=user, pool=row.pool, namespace=row.namespace)
        except NamespaceNotFoundError:
            raise DeletionNotFoundError from None
        if role < Role.OPERATE:
            raise RoleTooLowError


_UNFINISHED: Final = (DeletionPhase.WAITING, DeletionPhase.RUNNING)
_SHOWN: Final = Q(phase__in=(*_UNFINISHED, DeletionPhase.FAILED))


def deletions_of_queue(*, place: QueuePlace) -> list[PendingDeletion]:
    """Those of the queue that wait, run, or failed lately. Raises MetadataUnavailableError."""
    rows = PendingDeletion.objects.filter(_SHOWN, pool=place.pool, namespace=place.namespace, queue=place.queue)
    return read_metadata(lambda: list(rows.order_by("pk")[:ROWS_PER_TURN]))


def deletions_of_dead_letters(*, user: User) -> list[PendingDeletion]:
    """Those that the user asked for on the page of the dead letters. Raises MetadataUnavailableError."""
    kinds = (DeletionKind.DEAD_LETTERS, DeletionKind.DEAD_MATCHES)
    rows = PendingDeletion.objects.filter(_SHOWN, user_id=int(user.pk or 0), kind__in=kinds)
    return read_metadata(lambda: list(rows.order_by("pk")[:ROWS_PER_TURN]))


def carry_out_deletions(*, now: datetime, late_by: timedelta = timedelta()) -> int:
    """Work on those that have been due for `late_by`; how many jobs were deleted. Rows that are over long are removed.

    Raises database errors, and StoreUnavailableError once the other rows had their turn.
    """
    PendingDeletion.objects.filter(ended_at__lt=now - KEPT).delete()
    free = Q(claimed_at=None) | Q(claimed_at__lt=now - STALE)
    due = Q(phase__in=_UNFINISHED, due_at__lte=now - late_by)
    done = 0
    trouble: StoreUnavailableError | None = None
    turns = F("claimed_at").asc(nulls_first=True)  # those of a pool that is away do not keep the others waiting
    rows = PendingDeletion.objects.filter(free, due).select_related("user").order_by(turns, "due_at")
    for row in rows[:ROWS_PER_TURN]:
        mine = PendingDeletion.objects.filter(free, pk=row.pk, phase=row.phase)
        if not mine.update(phase=DeletionPhase.RUNNING, claimed_at=now):
            continue  # another process was quicker, or it was undone
        begun = row.phase == DeletionPhase.RUNNING
        if row.kind == DeletionKind.QUEUE and (begun or row.due_at < now - EMPTIED_WITHIN):
            _end(row, DeletionPhase.FAILED, INTERRUPTED)
            continue
        try:
            done += _work_on(row)
        except StoreUnavailableError as error:
            trouble = error
    if trouble is not None:
        raise trouble
    return done


def _work_on(row: PendingDeletion) -> int:
    """Some batches. What comes next is written down after each."""
    before = row.done
    is_over = False
    try:
        for _ in range(BATCHES_PER_TURN):
            batch, progress = _BATCHES[DeletionKind(row.kind)](row)
            row.done += batch
            is_over = not progress or LEFT_OUT in progress
            row.progress = progress or {}
            row.claimed_at = timezone.now()
            row.save(update_fields=["done", "progress", "claimed_at"])
            if is_over:
                break
    except (StoreUnavailableError, MetadataUnavailableError):
        _release(row)
        raise
    except TaskqError as error:
        _end(row, DeletionPhase.FAILED, error.code)
        logger.warning("deletion failed", extra={"action": "deletion.failed", "queue": row.queue, "error": error.code})
        return row.done - before
    if not is_over:
        _release(row)
    elif row.progress:
        _end(row, DeletionPhase.FAILED, LEFT_OUT)
        fields = {"action": "deletion.left_out", "pools": row.progress[LEFT_OUT]}
        logger.warning("deletion left out pools that do not answer", extra=fields)
    else:
        _end(row, DeletionPhase.DONE)
    return row.done - before


def _release(row: PendingDeletion) -> None:
    """Anybody may go on with it at once, after those whose last turn was earlier."""
    PendingDeletion.objects.filter(pk=row.pk).update(claimed_at=timezone.now() - STALE - timedelta(seconds=1))


def _end(row: PendingDeletion, phase: DeletionPhase, error: str = "") -> None:
    PendingDeletion.objects.filter(pk=row.pk).update(phase=phase, error=error, ended_at=timezone.now(), claimed_at=None)


Progress = dict[str, Any] | None
"""Where the next batch begins. None: there is none, and it is over; so it is with pools under LEFT_OUT."""


def _place(row: PendingDeletion) -> QueuePlace:
    return find_place(user=row.user, pool=row.pool, namespace=row.namespace, queue=row.queue)


def _order(row: PendingDeletion) -> Order:
    return Order(act=JobAct.DELETE, state=JobState(row.job_state))


def _delete_jobs(row: PendingDeletion) -> tuple[int, Progress]:
    place, order = _place(row), _order(row)
    jobs = [ChosenJob(job_id=job_id) for job_id in row.request["ids"]]
    if order.state is JobState.WORKING:
        jobs = _still_of_same_attempt(place, jobs, row.request.get("attempts", {}))
    if order.state is JobState.DEAD:
        now = _deaths_of(place.pool, place.namespace, place.queue, [job.job_id for job in jobs])
        jobs = [
            job
            for job in jobs
            if job.job_id in now and now[job.job_id] == row.request.get("deaths", {}).get(job.job_id)
        ]
    return act_on_jobs(user=row.user, place=place, order=order, jobs=jobs) if jobs else 0, None


def _still_of_same_attempt(
    place: QueuePlace, jobs: Sequence[ChosenJob], attempts: Mapping[str, int]
) -> list[ChosenJob]:
    """Without those that another consumer has taken since."""
    engine = engine_for(place.pool)
    queue = engine.queue(place.namespace, place.queue)
    found = engine.batch([detail(queue, job.job_id, preview=0) for job in jobs])
    return [
        job
        for job, now in zip(jobs, found, strict=True)
        if now is not None and attempts.get(job.job_id, now.attempt) == now.attempt
    ]


def _delete_matches(row: PendingDeletion) -> tuple[int, Progress]:
    batch = act_on_matches(
        user=row.user,
        place=_place(row),
        order=_order(row),
        wanted=JobFilter(**row.request["filter"]),
        after=row.progress.get("after"),
        before_ms=row.request["before_ms"],
        act_id=f"deletion-{row.pk}",
    )
    looked_at = row.progress.get("looked_at", 0) + batch.looked_at
    size = row.progress.get("size", batch.size)
    if batch.cursor is None or looked_at >= size:  # what came meanwhile is not meant
        return batch.done, None
    return batch.done, {"after": batch.cursor, "looked_at": looked_at, "size": size}


def _delete_queue(row: PendingDeletion) -> tuple[int, Progress]:
    return empty_whole_queue(user=row.user, place=_place(row)), None


def _delete_dead_letters(row: PendingDeletion) -> tuple[int, Progress]:
    asked = row.request["letters"]
    now = _deaths_of_letters(check_act_on_selected(user=row.user, verb=DeadVerb.DELETE, letters=asked))
    letters = [one for one in asked if one in now and now[one] == row.request.get("deaths", {}).get(one)]
    if not letters:
        return 0, None
    act_id = f"deletion-{row.pk}"
    return act_on_selected(user=row.user, verb=DeadVerb.DELETE, letters=letters, act_id=act_id), None


def _deaths_of(pool: str, namespace: str, queue: str, job_ids: Sequence[str]) -> dict[str, int]:
    """When those died that are dead now, ms, by their ids."""
    engine = engine_for(pool)
    keys = engine.queue(namespace, queue)
    found = engine.batch([detail(keys, job_id, preview=0) for job_id in job_ids])
    return {job.job_id: job.died_ms for job in found if job is not None and job.died_ms is not None}


def _deaths_of_letters(chosen: Mapping[QueueAddress, Sequence[str]]) -> dict[str, int]:
    """The same of `POOL/NAMESPACE/QUEUE/JOB_ID`."""
    return {
        f"{address}/{job_id}": died_ms
        for address, job_ids in chosen.items()
        for job_id, died_ms in _deaths_of(address.pool, address.namespace, address.queue, job_ids).items()
    }


def _delete_dead_matches(row: PendingDeletion) -> tuple[int, Progress]:
    batch = act_on_all(
        user=row.user,
        verb=DeadVerb.DELETE,
        chosen=read_filter(**row.request["filter"]),
        start=read_position(row.progress.get("at", "")),
        before_ms=row.request["before_ms"],
        act_id=f"deletion-{row.pk}",
    )
    away = sorted({*row.progress.get("away", ()), *batch.away})
    if batch.position is not None:
        return batch.done, {"at": str(batch.position), "away": away}
    return batch.done, {LEFT_OUT: away} if away else None


_BATCHES: Final = {
    DeletionKind.JOBS: _delete_jobs,
    DeletionKind.MATCHES: _delete_matches,
    DeletionKind.QUEUE: _delete_queue,
    DeletionKind.DEAD_LETTERS: _delete_dead_letters,
    DeletionKind.DEAD_MATCHES: _delete_dead_matches,
}
