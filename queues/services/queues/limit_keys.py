"""Who is throttled in a queue, and why: its limit keys with what each waits for, and the limits of the queue itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from queues.engine import (
    NO_LIMITS,
    JobState,
    KeyWait,
    LimitKey,
    LimitKeyPage,
    Operation,
    QueueStats,
    find_limit_keys,
    list_limit_keys,
    stats,
)
from queues.engine.constants import LIMIT_KEY_MAX_BYTES
from queues.engine.keys import QueueKeys
from queues.pools import reading_engine_for

from ..policies import EffectivePolicy, policy_for

PAGE_KEYS: Final = 50
KEYS_ON_QUEUE_PAGE: Final = 5
"""Of the first page."""

FIRST_MAX: Final = 1_000_000


class Throttle(StrEnum):
    """What a job waits for that is ready and is not delivered. `queue_*`: limits of the whole queue."""

    PAUSED = "paused"
    QUEUE_CONCURRENCY = "queue_concurrency"
    QUEUE_RATE = "queue_rate"
    KEY_CONCURRENCY = "key_concurrency"
    KEY_RATE = "key_rate"


_OF_KEY: Final = {
    KeyWait.TURN: None,
    KeyWait.CONCURRENCY: Throttle.KEY_CONCURRENCY,
    KeyWait.RATE: Throttle.KEY_RATE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitKeyRow:
    """A limit key. `throttle` None: it waits for its turn. `free_ms`: when a rate lets its next job through."""

    name: str
    ready: int
    working: int
    weight: int
    throttle: Throttle | None
    free_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLimitView:
    """The limits of a queue, and some of its limit keys with ready jobs.

    `throttle`: what holds up the whole queue; `free_ms`: of a rate, when that lets the next job through. `total` counts
    the keys with ready jobs, `throttled` those of them that are known to be at a limit of their own. `after` goes into
    the next call; "": no more.
    """

    policy: EffectivePolicy
    working: int
    throttle: Throttle | None
    free_ms: int | None
    rows: tuple[LimitKeyRow, ...]
    total: int
    throttled: int
    after: str = ""

    @property
    def has_limits(self) -> bool:
        """Whether a policy sets any."""
        return self.policy.max_in_flight is not None or self.policy.queue_limits is not None

    @property
    def first_rows(self) -> tuple[LimitKeyRow, ...]:
        """Those for the queue's own page."""
        return self.rows[:KEYS_ON_QUEUE_PAGE]


def first_limit_keys(queue: QueueKeys, policy: EffectivePolicy, *, first: int = 0) -> Operation[LimitKeyPage]:
    """What `view_limits` needs besides the queue's statistics."""
    return list_limit_keys(queue, first=first, limit=PAGE_KEYS, queue_limits=policy.queue_limits or NO_LIMITS)


def view_limits(*, policy: EffectivePolicy, now: QueueStats, page: LimitKeyPage) -> QueueLimitView:
    """What both say together: keys at a limit first.

    Redis has first those that a consumer has found to be at a limit. A key that came to its limit a moment ago is
    further behind: it is brought forward within its page.
    """
    keys = sorted(page.keys, key=lambda key: key.waits_for is KeyWait.TURN)
    return _view(policy, now, page, keys, "" if page.after is None else str(page.after))


def read_limit_keys(*, pool: str, namespace: str, queue: str, text: str = "", after: str = "") -> QueueLimitView:
    """Keys with ready jobs, those at a limit first; with `text` those that begin with it, by name. One round trip.

    `after` that means nothing is the first page. Raises StoreUnavailableError, MetadataUnavailableError.
    """
    engine = reading_engine_for(pool)
    keys = engine.queue(namespace, queue)
    policy = policy_for(pool=pool, namespace=namespace, queue=queue)
    if not text:
        first = min(int(after), FIRST_MAX) if after.isascii() and after.isdigit() and len(after) < 10 else 0
        now, page = engine.batch([stats(keys), first_limit_keys(keys, policy, first=first)])
        return view_limits(policy=policy, now=now, page=page)
    counting: tuple[Operation[QueueStats], Operation[LimitKeyPage]] = (
        stats(keys),
        first_limit_keys(keys, policy),
    )
    if not _may_be_key(text) or (after and not _may_be_key(after)):  # no key begins so
        now, page = engine.batch(counting)
        return _view(policy, now, page, (), "")
    limits = policy.queue_limits or NO_LIMITS
    finding = find_limit_keys(keys, text, after=after, limit=PAGE_KEYS, queue_limits=limits)
    now, page, found = engine.batch([*counting, finding])
    return _view(policy, now, page, found.keys, found.after or "")


def _view(
    policy: EffectivePolicy, now: QueueStats, page: LimitKeyPage, keys: Iterable[LimitKey], after: str
) -> QueueLimitView:
    throttle, free_ms = _throttle_of_queue(policy, now, page.queue_free_ms)
    at_limit = sum(key.waits_for is not KeyWait.TURN for key in page.keys)
    return QueueLimitView(
        policy=policy,
        working=now.counts[JobState.WORKING],
        throttle=throttle,
        free_ms=free_ms,
        rows=tuple(_rows(keys, throttle, free_ms)),
        total=page.total,
        throttled=max(page.throttled, at_limit),
        after=after,
    )


def _may_be_key(text: str) -> bool:
    return text.isprintable() and len(text.encode()) <= LIMIT_KEY_MAX_BYTES


def _throttle_of_queue(
    policy: EffectivePolicy, now: QueueStats, free_ms: int | None
) -> tuple[Throttle | None, int | None]:
    if now.paused:
        return Throttle.PAUSED, None
    if policy.max_in_flight is not None and now.counts[JobState.WORKING] >= policy.max_in_flight:
        return Throttle.QUEUE_CONCURRENCY, None
    if free_ms is not None:
        return Throttle.QUEUE_RATE, free_ms
    return None, None


def _rows(keys: Iterable[LimitKey], throttle: Throttle | None, free_ms: int | None) -> Iterable[LimitKeyRow]:
    for key in keys:
        own = _OF_KEY[key.waits_for]
        yield LimitKeyRow(
            name=key.key,
            ready=key.ready,
            working=key.working,
            weight=key.weight,
            throttle=own or throttle,
            free_ms=key.free_ms if own else free_ms,
        )
