"""Finds queues by name and jobs by idempotency key or the beginning of their id, in what a user may see.

Every search costs a bounded number of calls to Redis, whatever is typed and however many queues and pools there are.
A user has one search at a time in each process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Final, TypeVar

from queues.engine import JobFilter, JobState, find_key, scan_jobs
from queues.engine.errors import TaskqError
from queues.engine.keys import QueueKeys
from queues.pools import reading_engine_for

from .errors import SearchBusyError
from .permissions import User
from .queues.visible_queues import VisiblePool, visible_pools

FOUND_MAX: Final = 20
"""Jobs that one search lists."""

KEY_LOOKS_MAX: Final = 5_000
"""Queues that are asked for an idempotency key."""

SCANS_MAX: Final = 100
"""Calls that look for the beginning of an id, each through up to SCAN_LOOKS jobs."""

_KEYS_AT_ONCE: Final = 100
_SCANS_AT_ONCE: Final = 10
"""Calls in one round trip: Redis serves them without a pause, and a scan takes some milliseconds."""

_PREFIX: Final = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{5,24}")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueMatch:
    """A queue whose name matches. `is_exact`: QUEUE, NAMESPACE/QUEUE or POOL/NAMESPACE/QUEUE was typed."""

    pool: str
    namespace: str
    queue: str
    paused: bool
    is_exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JobMatch:
    """A job whose idempotency key or the beginning of whose id was typed."""

    pool: str
    namespace: str
    queue: str
    job_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobMatches:
    """`is_complete` False: there were more jobs or queues than one search looks through, or a pool was away.

    `looked_at`: how many jobs were looked at for the beginning of an id, `asked`: how many queues for a key.
    """

    jobs: tuple[JobMatch, ...]
    is_complete: bool
    looked_at: int = 0
    asked: int = 0


@dataclass(slots=True, kw_only=True)
class _Budget:
    """What a search may still do, and what it has done."""

    keys: int
    scans: int
    looked_at: int = 0


_searching: Final[set[int]] = set()
_searching_lock: Final = Lock()


@contextmanager
def one_search_at_a_time(user: User) -> Iterator[None]:
    """Search within the block. Raises SearchBusyError if another search of the user is under way in this process."""
    pk = int(user.pk or 0)
    with _searching_lock:
        if pk in _searching:
            raise SearchBusyError
        _searching.add(pk)
    try:
        yield
    finally:
        with _searching_lock:
            _searching.discard(pk)


def match_queues(*, user: User, text: str, limit: int) -> tuple[QueueMatch, ...]:
    """The best `limit` matches of the names that the latest surveys list: exact ones, then those that begin with the
    text, then those that have it anywhere. Raises MetadataUnavailableError."""
    wanted = text.strip().lower().replace(":", "/")
    if not wanted:
        return ()
    found: list[tuple[int, int, str, str, str, bool]] = []
    for view in visible_pools(user=user).pools:
        for queue in view.queues:
            rank = _rank(wanted, view.pool.lower(), queue.namespace.lower(), queue.queue.lower())
            if rank is not None:
                found.append((rank, len(queue.queue), queue.queue, queue.namespace, view.pool, queue.paused))
    return tuple(
        QueueMatch(pool=pool, namespace=namespace, queue=queue, paused=paused, is_exact=rank == 0)
        for rank, _length, queue, namespace, pool, paused in sorted(found)[:limit]
    )


def _rank(wanted: str, pool: str, namespace: str, queue: str) -> int | None:
    names = (queue, f"{namespace}/{queue}", f"{pool}/{namespace}/{queue}")
    if wanted in names:
        return 0
    if any(name.startswith(wanted) for name in names):
        return 1
    return 2 if wanted in names[1] else None


def find_jobs_by_key_or_prefix(*, user: User, text: str) -> JobMatches:
    """Jobs that were published under the key `text`, and those whose id begins with it (six characters at least).

    Raises MetadataUnavailableError.
    """
    visible = visible_pools(user=user)
    jobs: list[JobMatch] = []
    is_complete = not visible.away
    budget = _Budget(keys=KEY_LOOKS_MAX, scans=SCANS_MAX)
    for view in visible.pools:
        try:
            is_complete &= _search_pool(view, text, jobs, budget)
        except TaskqError:
            is_complete = False
    unique = tuple(dict.fromkeys(jobs))
    return JobMatches(
        jobs=unique[:FOUND_MAX],
        is_complete=is_complete and len(unique) <= FOUND_MAX,
        looked_at=budget.looked_at,
        asked=KEY_LOOKS_MAX - budget.keys,
    )


def _search_pool(view: VisiblePool, text: str, jobs: list[JobMatch], budget: _Budget) -> bool:
    """Add what is found. Whether all of the pool was searched."""
    queues = sorted((queue.size, queue.namespace, queue.queue) for queue in view.queues)
    engine = reading_engine_for(view.pool)
    keyed = [engine.queue(namespace, queue) for _size, namespace, queue in queues[: budget.keys]]
    for part in _parts(keyed):
        budget.keys -= len(part)
        ids = engine.batch([find_key(queue, text) for queue in part])
        jobs += [_match(view.pool, queue, job_id) for queue, job_id in zip(part, ids, strict=True) if job_id]
    is_complete = len(keyed) == len(queues)
    prefix = text.upper()
    if not _PREFIX.fullmatch(prefix):
        return is_complete
    scans: list[tuple[QueueKeys, JobState, str | None]] = [
        (engine.queue(found.namespace, found.queue), state, None)
        for found in sorted(view.queues, key=lambda one: one.size)
        for state in JobState
        if getattr(found, state.value)
    ]
    while scans and budget.scans and len(jobs) <= FOUND_MAX:
        room = min(_SCANS_AT_ONCE, budget.scans)
        now, scans = scans[:room], scans[room:]
        budget.scans -= len(now)
        operations = [
            scan_jobs(queue, state, JobFilter(job_id=prefix), after=after, limit=FOUND_MAX)
            for queue, state, after in now
        ]
        for (queue, state, _after), stretch in zip(now, engine.batch(operations), strict=True):
            budget.looked_at += stretch.looked_at
            jobs += [_match(view.pool, queue, job.job_id) for job in stretch.jobs if job.job_id.startswith(prefix)]
            if stretch.after is not None:
                scans.append((queue, state, stretch.after))
    return is_complete and not scans


def _match(pool: str, queue: QueueKeys, job_id: str) -> JobMatch:
    return JobMatch(pool=pool, namespace=queue.namespace, queue=queue.queue, job_id=job_id)


def _parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for first in range(0, len(items), _KEYS_AT_ONCE):
        yield items[first : first + _KEYS_AT_ONCE]
