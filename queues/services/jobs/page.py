"""What the page of one job shows: all that is known of it, its life as a time line, its body and result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from queues.engine import (
    JobDetail,
    JobState,
    constants,
    detail,
    find_detail,
    list_job_dependants,
    list_waits,
    read_note,
    read_worker,
    result,
)
from queues.engine.errors import JobNotFoundError
from queues.engine.names import is_job_id
from queues.engine.stats.heartbeats import WorkerBeat
from queues.pools import reading_engine_for

from ..queues.page import QueuePlace
from ..workers.reading import TEXT_SHOWN, running_row, worker_anchor
from .actions import ACTS, JobAct
from .relations import JobRelations, read_relations

LOG_LINES_SHOWN: Final = 200
"""The newest. Redis keeps 16 KiB of a job's log."""

PARKED_SHOWN: Final = 1_000
"""Characters of the reason why a job is parked."""

_NOTE_FIELDS: Final = frozenset({"percent", "note", "log", "parked"})
_WAITS: Final = frozenset({JobState.READY, JobState.DELAYED, JobState.RETRY})


class MomentKind(StrEnum):
    """What happened, or will."""

    PUBLISHED = "published"
    DUE = "due"
    UNKNOWN = "unknown"
    """Attempts that left no trace: released, or too long ago."""
    FAILED = "failed"
    LEASE_LOST = "lease_lost"
    RELEASED = "released"
    WORKING = "working"
    ACKED = "acked"
    DEAD = "dead"
    WILL_BE_DUE = "will_be_due"
    WILL_LOSE_LEASE = "will_lose_lease"
    WILL_EXPIRE = "will_expire"
    WILL_BE_PURGED = "will_be_purged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One entry of a time line, in ms since the epoch. For an attempt `at_ms` is its delivery, `ended_ms` its end.

    `first_attempt` differs from `attempt` for a stretch of attempts of which nothing is known.
    """

    kind: MomentKind
    at_ms: int | None = None
    ended_ms: int | None = None
    first_attempt: int = 0
    attempt: int = 0
    consumer: str = ""
    error: str = ""

    @property
    def run_ms(self) -> int | None:
        """How long the attempt took."""
        return None if self.ended_ms is None or self.at_ms is None else max(0, self.ended_ms - self.at_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgress:
    """How far a task said that it is, 0 to 100, and in its own words."""

    percent: float
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    """What workers said of a job. `progress` None: nothing, or it is done. `log`: lines, the oldest first.

    `parked`: why a worker gave the job back, while it waits. `worker`: id of the worker that runs it, "" if its
    consumer is not known as one.
    """

    progress: JobProgress | None
    log: tuple[str, ...]
    parked: str
    worker: str

    @property
    def anchor(self) -> str:
        """Where the worker is on the page of workers."""
        return worker_anchor(self.worker)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """A job, its result if it has one, what happened to it in order, and what this person may do with it."""

    place: QueuePlace
    job: JobDetail
    result: bytes | None
    past: tuple[Moment, ...]
    future: tuple[Moment, ...]
    acts: tuple[JobAct, ...]
    report: JobReport
    relations: JobRelations

    @property
    def is_kept_for_good(self) -> bool:
        """Whether its result has no end of its own: that of a workflow's job, which goes with the workflow."""
        return self.job.retention_ms >= constants.SECONDS_MAX * 1000

    @property
    def may_cancel(self) -> bool:
        """Whether there is somebody who would end the job: consumers that are no workers hear no commands."""
        return self.place.may_operate and self.job.state is JobState.WORKING and bool(self.report.worker)


def read_job(*, place: QueuePlace, job_id: str, with_body: bool = True) -> JobView:
    """Two round trips at the most, two more for a job with dependencies or dependants.

    Raises JobNotFoundError, StoreUnavailableError.
    """
    engine = reading_engine_for(place.pool)
    queue = engine.queue(place.namespace, place.queue)
    preview = None if with_body else 0
    if not is_job_id(job_id):
        raise JobNotFoundError(job_id)
    found, note, waits, dependants = engine.batch(
        [
            detail(queue, job_id, preview=preview),
            read_note(queue, job_id),
            list_waits(queue, job_id=job_id),
            list_job_dependants(queue, job_id=job_id),
        ]
    )
    if found is None:
        found = engine.run(find_detail(queue, job_id, preview=preview))
    if found is None:
        raise JobNotFoundError(job_id)
    has_result = with_body and found.result_bytes is not None
    kept = engine.run(result(queue, found.batch_id or job_id)).body if has_result else None
    is_held = found.state is JobState.WORKING and found.consumer  # so it has no result: still two round trips
    beat = engine.run(read_worker(place.namespace, found.consumer)) if is_held else None
    return JobView(
        place=place,
        job=found,
        result=kept,
        past=tuple(_past(found)),
        future=tuple(_future(found)),
        acts=ACTS[found.state] if place.may_operate and not found.batch_id else (),
        report=_report(found, note, beat),
        relations=read_relations(engine=engine, job=found, waits=waits, dependants=dependants),
    )


def _report(job: JobDetail, note: Mapping[str, bytes], beat: WorkerBeat | None) -> JobReport:
    """`beat`: of the worker that holds the job."""
    texts = {name: text.decode("utf-8", "replace") for name, text in note.items() if name in _NOTE_FIELDS}
    return JobReport(
        progress=None if job.state is JobState.COMPLETED else _progress(job, texts, beat),
        log=tuple(texts.get("log", "").splitlines()[-LOG_LINES_SHOWN:]),
        parked=texts.get("parked", "")[:PARKED_SHOWN] if job.state in _WAITS else "",
        worker="" if beat is None else beat.worker,
    )


def _progress(job: JobDetail, texts: Mapping[str, str], beat: WorkerBeat | None) -> JobProgress | None:
    """As the worker says: a note may be of an attempt before. Without a worker, as the note says."""
    for running in () if beat is None else beat.running:
        if running.job_id == job.job_id and running.queue == job.queue:
            try:
                row = running_row(running)
            except (TypeError, ValueError):
                break
            return None if row.percent is None else JobProgress(percent=row.percent, note=row.note)
    try:
        percent = float(texts.get("percent", "nan"))
    except ValueError:
        return None
    if not math.isfinite(percent):
        return None
    return JobProgress(percent=min(100.0, max(0.0, percent)), note=texts.get("note", "")[:TEXT_SHOWN])


def _past(job: JobDetail) -> Iterator[Moment]:
    yield Moment(kind=MomentKind.PUBLISHED, at_ms=job.published_ms)
    known = 0
    for ended in job.history:
        yield from _gap(known, ended.attempt)
        yield from _due_before(job, ended.attempt)
        known = ended.attempt
        yield Moment(
            kind=MomentKind(ended.outcome),
            at_ms=ended.taken_ms,
            ended_ms=ended.ended_ms,
            attempt=ended.attempt,
            consumer=ended.consumer,
            error=ended.error,
        )
    if job.attempt > known:
        yield from _gap(known, job.attempt)
        yield from _due_before(job, job.attempt)
        yield _newest_attempt(job)
    if job.died_ms is not None:
        yield Moment(kind=MomentKind.DEAD, at_ms=job.died_ms)
    if job.state is JobState.READY and job.due_ms is not None:
        yield Moment(kind=MomentKind.DUE, at_ms=job.due_ms)


def _due_before(job: JobDetail, attempt: int) -> Iterator[Moment]:
    """When the job became due for its newest attempt, if that was not at once; of older ones it is not kept."""
    was_taken = job.state in (JobState.WORKING, JobState.COMPLETED, JobState.DEAD)
    if was_taken and attempt == job.attempt and job.due_ms is not None and job.due_ms > job.published_ms:
        yield Moment(kind=MomentKind.DUE, at_ms=job.due_ms)


def _gap(known: int, attempt: int) -> Iterator[Moment]:
    if attempt > known + 1:
        yield Moment(kind=MomentKind.UNKNOWN, first_attempt=known + 1, attempt=attempt - 1)


def _newest_attempt(job: JobDetail) -> Moment:
    """The attempt that did not fail: it holds the job, it was acked, or it gave the job back."""
    kind, ended_ms = MomentKind.RELEASED, None
    if job.state is JobState.WORKING:
        kind = MomentKind.WORKING
    elif job.kept_until_ms is not None:
        kind, ended_ms = MomentKind.ACKED, job.kept_until_ms - job.retention_ms
    return Moment(kind=kind, at_ms=job.taken_ms, ended_ms=ended_ms, attempt=job.attempt, consumer=job.consumer)


def _future(job: JobDetail) -> Iterator[Moment]:
    if job.state in (JobState.DELAYED, JobState.RETRY):
        yield Moment(kind=MomentKind.WILL_BE_DUE, at_ms=job.due_ms)
    if job.lease_end_ms is not None:
        yield Moment(kind=MomentKind.WILL_LOSE_LEASE, at_ms=job.lease_end_ms)
    if job.expires_ms:
        yield Moment(kind=MomentKind.WILL_EXPIRE, at_ms=job.expires_ms)
    if job.kept_until_ms is not None:
        yield Moment(kind=MomentKind.WILL_BE_PURGED, at_ms=job.kept_until_ms)
