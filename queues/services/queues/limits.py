"""Who is throttled in a queue, and why: its limit keys and what each waits for, and the limits of the queue itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from queues.engine import NO_LIMITS, JobState, KeyWait, LimitKey, find_limit_keys, list_limit_keys, stats
from queues.engine.errors import InvalidArgumentError
from queues.engine.queue_limits import check_limit_key
from queues.pools import reading_engine_for

from ..policies import EffectivePolicy, policy_for
from .place import QueuePlace

SHOWN: Final = 10
"""Keys on the queue's own page."""

PAGE_KEYS: Final = 50
FIRST_MAX: Final = 1_000_000


class QueueWait(StrEnum):
    """Why a queue as a whole delivers nothing right now."""

    PAUSED = "paused"
    CONCURRENCY = "concurrency"
    RATE = "rate"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLimitState:
    """`waits_for` None: the queue delivers. `free_ms`: of a rate, when the next job may go."""

    policy: EffectivePolicy
    waits_for: QueueWait | None
    free_ms: int | None
    working: int
    now_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitKeyRow:
    """A limit key, and what its ready jobs wait for: the first of the key's own limits, those of the queue, its turn."""

    key: LimitKey
    waits_for: KeyWait
    of_queue: QueueWait | None
    free_ms: int | None

    @property
    def is_throttled(self) -> bool:
        return self.waits_for is not KeyWait.TURN or self.of_queue is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitKeyView:
    """A page of limit keys. `after`: goes into the next call; "": there are no more.

    `total` and `throttled` (by limits of their own) count all keys with ready jobs.
    """

    rows: tuple[LimitKeyRow, ...]
    state: QueueLimitState
    total: int
    throttled: int
    after: str


def read_limit_keys(
    *, place: QueuePlace, text: str = "", after: str = "", number: int = PAGE_KEYS
) -> LimitKeyView:
    """Keys with ready jobs, those at a limit first; with `text` those that begin with it, by name. One round trip.

    Raises InvalidArgumentError, StoreUnavailableError, MetadataUnavailableError.
    """
    engine = reading_engine_for(place.pool)
    queue = engine.queue(place.namespace, place.queue)
    policy = policy_for(pool=place.pool, namespace=place.namespace, queue=place.queue)
    limits = policy.queue_limits or NO_LIMITS
    if not text:
        first = _read_first(after)
        now, page = engine.batch([stats(queue), list_limit_keys(queue, first=first, limit=number, queue_limits=limits)])
        keys, total, throttled, free_ms = page.keys, page.total, page.throttled, page.queue_free_ms
        following = "" if page.after is None else str(page.after)
    else:
        now, counted, found = engine.batch(
            [
                stats(queue),
                list_limit_keys(queue, limit=1, queue_limits=limits),
                find_limit_keys(queue, text, after=after, limit=number, queue_limits=limits),
            ]
        )
        keys, total, throttled, free_ms = found.keys, counted.total, counted.throttled, found.queue_free_ms
        following = found.after or ""
    working = now.counts[JobState.WORKING]
    state = _state_of(policy, paused=now.paused, working=working, free_ms=free_ms, now_ms=now.now_ms)
    rows = [_row(key, state) for key in keys]
    if not text:
        rows.sort(key=lambda row: row.waits_for is KeyWait.TURN)
    return LimitKeyView(rows=tuple(rows), state=state, total=total, throttled=throttled, after=following)
