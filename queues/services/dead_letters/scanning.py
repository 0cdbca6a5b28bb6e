"""Dead letters of many queues together, newest first, a bounded stretch at a time; groups; verbs of one queue's.

Groups are by what their errors have in common, by queue or by day. `read_dead_news` says whether there are new ones
since a page was made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from queues.engine import DEAD_SCAN_BATCH, DeadJob, DeadPage, respawn, scan_dead
from queues.engine.keys import QueueKeys
from queues.engine.operation import Plan
from queues.pools import reading_engine_for

from ..permissions import User
from .filtering import DeadFilter, DeadQueue, DeadQueues, Position, QueueAddress, find_dead_queues, pattern_of_job

SCAN_MAX: Final = 2_000
"""Dead letters that one call looks at."""

QUEUES_AT_ONCE: Final = 100
"""Queues that one call looks into."""

GROUPS_MAX: Final = 100
"""Of more groups than this, only the largest are told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A dead letter that was found, and where."""

    address: QueueAddress
    job: DeadJob
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadStretch:
    """What a stretch found: `letters` are those that the filter means, queue by queue, newest first in each.

    `left`: how many are yet to be looked at; `position`: where they begin, None when there are none.
    """

    letters: tuple[DeadLetter, ...]
    looked_at: int
    left: int
    position: Position | None


def scan_dead_letters(
    *,
    user: User,
    chosen: DeadFilter,
    start: Position | None = None,
    before_ms: int | None = None,
    scan_max: int = SCAN_MAX,
) -> tuple[DeadQueues, DeadStretch]:
    """The queues that come into question from `start` on, and what the next stretch of them holds.

    Raises NamespaceNotFoundError, InvalidArgumentError, MetadataUnavailableError, StoreUnavailableError.
    """
    dead_queues = find_dead_queues(user=user, chosen=chosen, start=start, before_ms=before_ms)
    return dead_queues, scan_queues(dead_queues=dead_queues, chosen=chosen, start=start, scan_max=scan_max)


def scan_queues(*, dead_queues: DeadQueues, chosen: DeadFilter, start: Position | None, scan_max: int) -> DeadStretch:
    """The next `scan_max` dead letters of the queues. Raises StoreUnavailableError."""
    scans = [_QueueScan(queue, start, most) for queue, most in _shares(dead_queues, scan_max)]
    while unfinished := [scan for scan in scans if not scan.is_done]:
        _scan_on(unfinished, chosen, dead_queues.before_ms)
    letters = tuple(
        DeadLetter(address=scan.at.address, job=job, pattern=pattern)
        for scan in scans
        for job in scan.jobs
        if chosen.matches(job, pattern := pattern_of_job(job))
    )
    looked_at = sum(len(scan.jobs) for scan in scans)
    position = _position_behind(dead_queues, scans)
    return DeadStretch(
        letters=letters,
        looked_at=looked_at,
        left=max(1, dead_queues.count - looked_at) if position else 0,
        position=position,
    )


class _QueueScan:
    """How far one queue has been looked through."""

    def __init__(self, at: DeadQueue, start: Position | None, most: int) -> None:
        self.at = at
        self.jobs: list[DeadJob] = []
        self.cursor = start.cursor if start is not None and start.address == at.address else None
        self.is_at_end = False
        self._most = most

    @property
    def wanted(self) -> int:
        return min(DEAD_SCAN_BATCH, self._most - len(self.jobs))

    @property
    def is_done(self) -> bool:
        return self.is_at_end or self.wanted <= 0

    def add(self, page: DeadPage) -> None:
        self.jobs += page.jobs
        self.cursor = page.after
        self.is_at_end = page.after is None


def _shares(dead_queues: DeadQueues, scan_max: int) -> Iterator[tuple[DeadQueue, int]]:
    """The first queues, and how many dead letters of each may be looked at: enough for all of them but the last."""
    for queue in dead_queues.queues[:QUEUES_AT_ONCE]:
        if scan_max <= 0:
            return
        yield queue, scan_max
        scan_max -= queue.count


def _scan_on(scans: list[_QueueScan], chosen: DeadFilter, before_ms: int) -> None:
    """One more page of each, in one round trip per pool."""
    for pool in {scan.at.address.pool for scan in scans}:
        engine = reading_engine_for(pool)
        of_pool = [scan for scan in scans if scan.at.address.pool == pool]
        pages = engine.batch(
            [
                scan_dead(
                    engine.queue(scan.at.address.namespace, scan.at.address.queue),
                    since_ms=chosen.since_ms,
                    before_ms=before_ms,
                    after=scan.cursor,
                    limit=scan.wanted,
                )
                for scan in of_pool
            ]
        )
        for scan, page in zip(of_pool, pages, strict=True):
            scan.add(page)


def _position_behind(dead_queues: DeadQueues, scans: list[_QueueScan]) -> Position | None:
    """Only the last queue may have been left in its middle."""
    if scans and not scans[-1].is_at_end:
        return Position(address=scans[-1].at.address, cursor=scans[-1].cursor)
    if len(scans) < len(dead_queues.queues):
        return Position(address=dead_queues.queues[len(scans)].address)
    return None


def respawn_dead(
    *, queue: QueueKeys, ttl_s: int, limit: int | None = None, job_ids: Sequence[str] | None = None
) -> Plan[int]:
    """Make dead jobs ready with one more try and a new ttl: the `limit` oldest, or those named. Answers how many."""
    return respawn(queue, limit=limit, ids=job_ids, ttl_ms=ttl_s * 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadGroup:
    """Some dead letters with something in common. Times: of the first and last death, ms; None: not looked at yet.

    `key`: a pattern, `str(address)`, or a day as `2026-11-21`. `example`: the last error. `address`: of a group
    by queue.
    """

    key: str
    count: int
    first_ms: int | None = None
    last_ms: int | None = None
    example: str = ""
    address: QueueAddress | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadGroups:
    """Each the largest first, but days the latest first. `are_cut`: there are more groups than are told apart."""

    errors: tuple[DeadGroup, ...]
    queues: tuple[DeadGroup, ...]
    days: tuple[DeadGroup, ...]
    are_cut: bool


def group_letters(letters: Iterable[DeadLetter]) -> DeadGroups:
    """Groups of what a stretch found."""
    found = list(letters)
    errors = _by_size(_grouped(found, lambda letter: letter.pattern))
    queues = _by_size(_grouped(found, lambda letter: str(letter.address), with_address=True))
    days = sorted(_grouped(found, _day_of), key=lambda group: group.key, reverse=True)
    return DeadGroups(
        errors=tuple(errors[:GROUPS_MAX]),
        queues=tuple(queues[:GROUPS_MAX]),
        days=tuple(days[:GROUPS_MAX]),
        are_cut=max(len(errors), len(queues), len(days)) > GROUPS_MAX,
    )


def count_queues(dead_queues: DeadQueues) -> tuple[DeadGroup, ...]:
    """Groups by queue that are exact without looking at a single dead letter, for a filter that reads no errors."""
    groups = [DeadGroup(key=str(one.address), count=one.count, address=one.address) for one in dead_queues.queues]
    return tuple(_by_size(groups)[:GROUPS_MAX])


def _by_size(groups: list[DeadGroup]) -> list[DeadGroup]:
    return sorted(groups, key=lambda group: (-group.count, group.key))


def _day_of(letter: DeadLetter) -> str:
    return datetime.fromtimestamp(letter.job.died_ms / 1000, UTC).date().isoformat()


def _grouped(
    letters: Iterable[DeadLetter], key_of: Callable[[DeadLetter], str], *, with_address: bool = False
) -> list[DeadGroup]:
    by_key: dict[str, list[DeadLetter]] = {}
    for letter in letters:
        by_key.setdefault(key_of(letter), []).append(letter)
    return [_group(key, members, with_address) for key, members in by_key.items()]


def _group(key: str, members: list[DeadLetter], with_address: bool) -> DeadGroup:
    last = max(members, key=lambda letter: letter.job.died_ms)
    return DeadGroup(
        key=key,
        count=len(members),
        first_ms=min(letter.job.died_ms for letter in members),
        last_ms=last.job.died_ms,
        example=last.job.error,
        address=last.address if with_address else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadNews:
    """`died`: how many died since, whatever of. `has_changed`: they did, or others are gone."""

    died: int
    has_changed: bool


def mark_of(dead_queues: DeadQueues) -> str:
    """A short word, another one when a queue has more or fewer dead letters, or the person other rights there."""
    told = "\n".join(f"{one.address} {one.count} {one.role}" for one in dead_queues.queues)
    return hashlib.blake2b(f"{told}\n{dead_queues.away}".encode(), digest_size=8).hexdigest()


def read_dead_news(*, user: User, chosen: DeadFilter, since_ms: int, mark: str) -> DeadNews:
    """What happened since `since_ms`, when `mark_of` said `mark`; an empty mark asks only for what died.

    Raises NamespaceNotFoundError, MetadataUnavailableError, StoreUnavailableError.
    """
    died = find_dead_queues(user=user, chosen=chosen, since_ms=since_ms).count
    if died or not mark:
        return DeadNews(died=died, has_changed=bool(died))
    return DeadNews(died=0, has_changed=mark != mark_of(find_dead_queues(user=user, chosen=chosen)))
