"""What the page of one job shows: all that is known of it, its life as a time line, its body and result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from queues.engine import (
    JobDetail,
    JobState,
    QueueStats,
    constants,
    detail,
    find_detail,
    list_job_dependants,
    list_waits,
    read_note,
    read_worker,
    result,
    stats,
)
from queues.engine.errors import JobNotFoundError
from queues.engine.names import is_job_id
from queues.engine.stats.heartbeats import WorkerBeat
from queues.pools import reading_engine_for

from ..queues.objectives import read_objectives
from ..queues.page import QueuePlace
from ..workers.reading import TEXT_SHOWN, running_row, worker_anchor
from .actions import ACTS, JobAct
from .moments import Moment, future_of, past_of
from .relations import JobRelations, SameKey, read_relations, read_same_key
from .timeline import GapKind, TimeLine, Usual, time_line

LOG_LINES_SHOWN: Final = 200
"""The newest. Redis keeps 16 KiB of a job's log."""

PARKED_SHOWN: Final = 1_000
"""Characters of the reason why a job is parked."""

_NOTE_FIELDS: Final = frozenset({"percent", "note", "log", "parked"})
_WAITS: Final = frozenset({JobState.READY, JobState.DELAYED, JobState.RETRY})


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
    """A job, its result if it has one, what happened to it in order, and what this person may do with it.

    Without its body, for the live part of its page, it is not looked for jobs with the same key.
    """

    place: QueuePlace
    job: JobDetail
    result: bytes | None
    life: TimeLine
    future: tuple[Moment, ...]
    acts: tuple[JobAct, ...]
    report: JobReport
    relations: JobRelations
    same_key: SameKey

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
    found, note, waits, dependants, now = engine.batch(
        [
            detail(queue, job_id, preview=preview),
            read_note(queue, job_id),
            list_waits(queue, job_id=job_id),
            list_job_dependants(queue, job_id=job_id),
            stats(queue),
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
        life=time_line(tuple(past_of(found)), state=found.state, now_ms=found.now_ms, usual=_usual(place, now)),
        future=tuple(future_of(found)),
        acts=ACTS[found.state] if place.may_operate and not found.batch_id else (),
        report=_report(found, note, beat),
        relations=read_relations(engine=engine, job=found, waits=waits, dependants=dependants),
        same_key=read_same_key(engine=engine, job=found) if with_body else SameKey(),
    )


def _usual(place: QueuePlace, now: QueueStats) -> Usual:
    objective_ms = read_objectives(pool=place.pool).of(place.namespace, place.queue)
    p95_ms = {GapKind.WAIT: now.wait_ms.get("p95"), GapKind.RUN: now.run_ms.get("p95")}
    return Usual(objective_ms=objective_ms, p95_ms=p95_ms)


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
