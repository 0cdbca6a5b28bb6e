"""Workers of the Python SDK, and the jobs that they run, as far as a person may see them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from django.db import connections

from queues.engine import list_worker_records
from queues.engine.errors import InvalidArgumentError, TaskqError
from queues.engine.names import check_queue, is_job_id
from queues.engine.stats.heartbeats import ParkedTask, RunningJob, WorkerBeat, WorkerRecord
from queues.pools import find_pool, reading_engine_for

from ...pools.ttl_cache import Recent
from ..permissions import Role, User, roles_of

WORKERS_SHOWN: Final = 200
"""So many a page lists. The records of the others are not parsed."""

ROWS_SHOWN: Final = 20
ROWS_OF_PAGE: Final = 400
LEAST_ROWS_SHOWN: Final = 2
"""Of each worker ROWS_SHOWN running jobs and parked tasks; fewer where all workers' would be more than ROWS_OF_PAGE."""

QUEUES_SHOWN: Final = 10
"""Of each worker."""

TEXT_SHOWN: Final = 255
"""Characters of each text that a worker gives."""

RECENT_S: Final = 1.0
"""What all viewers share is read again no sooner."""

POOLS_AT_ONCE: Final = 8

_NOT_IN_ANCHORS: Final = re.compile(r"[^A-Za-z0-9_.:-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueWeight:
    """A queue that a worker takes jobs from. `has_page`: its name can be part of an address."""

    queue: str
    weight: int
    has_page: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningRow:
    """A job that a worker runs. `percent` (0 to 100) None: its task has not said. `has_page`: it can be linked to."""

    queue: str
    job_id: str
    task: str
    attempt: int
    run_ms: float
    percent: float | None
    note: str
    has_page: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRow:
    """A worker that was heard of `silent_ms` ago. `state`: running, quiet, stopping, or the word of a newer version.

    `used`: jobs that it runs, of `concurrency` at once. `jobs`, `parked` and `queues` are the first few; how many more
    there are is in `jobs_more`, `parked_more`, `queues_more`.
    """

    pool: str
    namespace: str
    worker: str
    host: str
    pid: int
    version: str
    state: str
    silent_ms: int
    queues: tuple[QueueWeight, ...]
    queues_more: int
    used: int
    concurrency: int
    up_ms: float
    done: int
    failed: int
    cpu_percent: float
    memory_bytes: int
    jobs: tuple[RunningRow, ...]
    jobs_more: int
    parked: tuple[ParkedTask, ...]
    parked_more: int
    may_operate: bool

    @property
    def anchor(self) -> str:
        return worker_anchor(self.worker)

    @property
    def parked_jobs(self) -> int:
        """How often it has given a job back, over the tasks that are listed."""
        return sum(task.jobs for task in self.parked)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkersView:
    """Workers to list, and how many `more` there are. `unreadable`: of those, records of another version.

    `away`: pools that do not answer.
    """

    workers: tuple[WorkerRow, ...]
    namespaces: tuple[tuple[str, str], ...]
    more: int
    unreadable: int
    away: tuple[str, ...]

    @property
    def used(self) -> int:
        return sum(row.used for row in self.workers)

    @property
    def concurrency(self) -> int:
        return sum(row.concurrency for row in self.workers)

    @property
    def parked_jobs(self) -> int:
        return sum(row.parked_jobs for row in self.workers)


def read_workers(*, user: User, namespace: str = "", text: str = "") -> WorkersView:
    """Workers of the namespaces that `user` may see; of one, if `namespace` (`pool/name`) says so.

    `text`: part of a worker's id, which begins with its host. One round trip to each pool, at most once a second.
    Raises MetadataUnavailableError; StoreUnavailableError if no pool answers.
    """
    roles = roles_of(user=user)
    chosen = {place: role for place, role in roles.items() if not namespace or "/".join(place) == namespace}
    pools = sorted({pool for pool, _ in chosen})
    answers = _read_pools(pools)
    errors = [answer for answer in answers.values() if isinstance(answer, TaskqError)]
    if errors and len(errors) == len(pools):
        raise errors[0]
    needle = text.strip().casefold()
    found = [
        (pool, record)
        for pool, records in answers.items()
        if not isinstance(records, TaskqError)
        for record in records
        if (pool, record.namespace) in chosen and needle in record.worker.casefold()
    ]
    shown = found[:WORKERS_SHOWN]
    most = min(ROWS_SHOWN, max(LEAST_ROWS_SHOWN, ROWS_OF_PAGE // max(1, len(shown))))
    rows = [_row(pool, record, chosen, most) for pool, record in shown]
    return WorkersView(
        workers=tuple([row for row in rows if row is not None]),
        namespaces=tuple(roles),
        more=len(found) - len(rows),
        unreadable=rows.count(None),
        away=tuple([pool for pool, answer in answers.items() if isinstance(answer, TaskqError)]),
    )


def worker_anchor(worker: str) -> str:
    """The id of the worker's element on the page."""
    return "worker-" + _NOT_IN_ANCHORS.sub("-", worker)


def _read_pools(pools: Sequence[str]) -> dict[str, tuple[WorkerRecord, ...] | TaskqError]:
    """Side by side, so that a pool that does not answer delays no other."""
    if not pools:
        return {}
    for pool in pools:
        find_pool(pool)  # so that the threads find the row in memory and need no database connection
    with ThreadPoolExecutor(max_workers=min(len(pools), POOLS_AT_ONCE)) as threads:
        return dict(zip(pools, threads.map(_read_pool, pools), strict=True))


def _read_pool(pool: str) -> tuple[WorkerRecord, ...] | TaskqError:
    try:
        return _recent.get(pool, lambda: reading_engine_for(pool).run(list_worker_records()))
    except TaskqError as error:
        return error
    finally:
        connections.close_all()  # those of this thread, if it needed any after all


_recent: Recent[str, tuple[WorkerRecord, ...]] = Recent(RECENT_S)


def _row(pool: str, record: WorkerRecord, roles: Mapping[tuple[str, str], Role], most: int) -> WorkerRow | None:
    """With at most `most` jobs. None: a record of another version, or one that no worker of ours wrote."""
    beat = record.unpack()
    if beat is None or beat.namespace != record.namespace:
        return None
    try:
        return _shown(pool, beat, may_operate=roles[pool, beat.namespace] >= Role.OPERATE, most=most)
    except (TypeError, ValueError, AttributeError):
        return None


def _shown(pool: str, beat: WorkerBeat, *, may_operate: bool, most: int) -> WorkerRow:
    """Raises TypeError, ValueError or AttributeError for values that are not of the kind that they should be."""
    queues = list(beat.queues.items())
    jobs, parked = beat.running[:most], beat.parked[:most]
    return WorkerRow(
        pool=pool,
        namespace=beat.namespace,
        worker=beat.worker,
        host=_text(beat.host),
        pid=int(_number(beat.pid)),
        version=_text(beat.version),
        state=_text(beat.state),
        silent_ms=beat.age_ms,
        queues=tuple([_queue_weight(_text(name), int(_number(weight))) for name, weight in queues[:QUEUES_SHOWN]]),
        queues_more=max(0, len(queues) - QUEUES_SHOWN),
        used=len(beat.running) + int(_number(beat.running_untold)),
        concurrency=int(_number(beat.concurrency)),
        up_ms=_number(beat.up_ms),
        done=int(_number(beat.done)),
        failed=int(_number(beat.failed)),
        cpu_percent=_number(beat.cpu_percent),
        memory_bytes=int(_number(beat.memory_bytes)),
        jobs=tuple([running_row(job) for job in jobs]),
        jobs_more=len(beat.running) - len(jobs) + int(_number(beat.running_untold)),
        parked=tuple([_parked(task) for task in parked]),
        parked_more=len(beat.parked) - len(parked) + int(_number(beat.parked_untold)),
        may_operate=may_operate,
    )


def running_row(job: RunningJob) -> RunningRow:
    """A running job as a page shows it. Raises TypeError or ValueError for values of the wrong kind."""
    queue, job_id = _text(job.queue), _text(job.job_id)
    return RunningRow(
        queue=queue,
        job_id=job_id,
        task=_text(job.task),
        attempt=int(_number(job.attempt)),
        run_ms=_number(job.run_ms),
        percent=None if job.percent is None else min(100.0, max(0.0, _number(job.percent))),
        note=_text(job.note),
        has_page=_is_queue(queue) and is_job_id(job_id),
    )


def _queue_weight(queue: str, weight: int) -> QueueWeight:
    return QueueWeight(queue=queue, weight=weight, has_page=_is_queue(queue))


def _parked(task: ParkedTask) -> ParkedTask:
    return ParkedTask(
        queue=_text(task.queue), task=_text(task.task), reason=_text(task.reason), jobs=int(_number(task.jobs))
    )


def _is_queue(name: str) -> bool:
    try:
        check_queue(name)
    except InvalidArgumentError:
        return False
    return True


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value[:TEXT_SHOWN]


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(value)
    if not math.isfinite(value):
        raise ValueError(value)
    return value
