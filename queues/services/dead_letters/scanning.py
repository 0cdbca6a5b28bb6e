"""Dead letters of many queues together, newest first, a bounded stretch at a time; groups; verbs of one queue's.

Groups are by what their errors have in common, by queue or by day. `read_dead_news` says whether there are new ones
since a page was made.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from queues.engine import DEAD_SCAN_BATCH, DeadJob, DeadPage, respawn, scan_dead
from queues.engine.keys import QueueKeys
from queues.engine.operation import Plan
from queues.pools import reading_engine_for

from ..permissions import User
from ..queues.minute_history import histories_of_queues
from .filtering import DeadFilter, DeadQueue, DeadQueues, Position, QueueAddress, find_dead_queues, pattern_of_job

SCAN_MAX: Final = 2_000
"""Dead letters that one call looks at."""

QUEUES_AT_ONCE: Final = 100
"""Queues that one call looks into."""

DELIVERIES_QUEUES: Final = 50
"""Of more queues it is not read how much they have delivered."""

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

    `left`: how many are yet to be looked at; `position`: where they begin, None when there are none. `places`: of each
    letter, how many were looked at before it.
    """

    letters: tuple[DeadLetter, ...]
    looked_at: int
    left: int
    position: Position | None
    places: tuple[int, ...]


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


def read_all_letters(*, user: User, chosen: DeadFilter) -> tuple[DeadQueues, Iterator[Sequence[DeadLetter]]]:
    """The queues that come into question, and all letters that are meant, a stretch of DEAD_SCAN_BATCH at a time.

    What dies later is not among them. Raises as `scan_dead_letters`; the iterator StoreUnavailableError.
    """
    dead_queues = find_dead_queues(user=user, chosen=chosen)
    return dead_queues, _stretches(dead_queues, chosen)


def _stretches(dead_queues: DeadQueues, chosen: DeadFilter) -> Iterator[Sequence[DeadLetter]]:
    position: Position | None = None
    while True:
        stretch = scan_queues(dead_queues=dead_queues, chosen=chosen, start=position, scan_max=DEAD_SCAN_BATCH)
        yield stretch.letters
        position = stretch.position
        if position is None:
            return
        rest = [queue for queue in dead_queues.queues if queue.address >= position.address]
        dead_queues = replace(dead_queues, queues=tuple(rest))


def scan_queues(*, dead_queues: DeadQueues, chosen: DeadFilter, start: Position | None, scan_max: int) -> DeadStretch:
    """The next `scan_max` dead letters of the queues. Raises StoreUnavailableError."""
    scans = [_QueueScan(queue, start, most) for queue, most in _shares(dead_queues, scan_max)]
    while unfinished := [scan for scan in scans if not scan.is_done]:
        _scan_on(unfinished, chosen, dead_queues.before_ms)
    looked_through = enumerate((scan.at.address, job) for scan in scans for job in scan.jobs)
    matched = [
        (place, DeadLetter(address=address, job=job, pattern=pattern))
        for place, (address, job) in looked_through
        if chosen.matches(job, pattern := pattern_of_job(job))
    ]
    looked_at = sum(len(scan.jobs) for scan in scans)
    position = _position_behind(dead_queues, scans)
    return DeadStretch(
        letters=tuple(letter for _, letter in matched),
        places=tuple(place for place, _ in matched),
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
    by queue. `trend`: of a group by error, deaths of each of the last TREND_HOURS hours, the earliest first. `places`:
    pool and namespace of all that are in a group by error, with their number.
    """

    key: str
    count: int
    first_ms: int | None = None
    last_ms: int | None = None
    example: str = ""
    address: QueueAddress | None = None
    trend: tuple[int, ...] = ()
    places: tuple[tuple[tuple[str, str], int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadGroups:
    """Each the largest first, but days the latest first. `are_cut`: there are more groups than are told apart."""

    errors: tuple[DeadGroup, ...]
    queues: tuple[DeadGroup, ...]
    days: tuple[DeadGroup, ...]
    are_cut: bool


TREND_HOURS: Final = 24
HOUR_MS: Final = 3_600_000


def group_letters(letters: Iterable[DeadLetter], *, before_ms: int) -> DeadGroups:
    """Groups of what a stretch found. `before_ms`: the end of the trend's last hour."""
    found = list(letters)
    errors = _by_size(
        [_error_group(key, members, before_ms) for key, members in _keyed(found, lambda letter: letter.pattern)]
    )
    queues = _by_size([_queue_group(key, members) for key, members in _keyed(found, lambda one: str(one.address))])
    days = sorted((_group(key, members) for key, members in _keyed(found, _day_of)), key=_key_of, reverse=True)
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


def _key_of(group: DeadGroup) -> str:
    return group.key


def _keyed(
    letters: Iterable[DeadLetter], key_of: Callable[[DeadLetter], str]
) -> Iterable[tuple[str, list[DeadLetter]]]:
    by_key: dict[str, list[DeadLetter]] = {}
    for letter in letters:
        by_key.setdefault(key_of(letter), []).append(letter)
    return by_key.items()


def _group(key: str, members: list[DeadLetter]) -> DeadGroup:
    last = max(members, key=lambda letter: letter.job.died_ms)
    return DeadGroup(
        key=key,
        count=len(members),
        first_ms=min(letter.job.died_ms for letter in members),
        last_ms=last.job.died_ms,
        example=last.job.error,
    )


def _queue_group(key: str, members: list[DeadLetter]) -> DeadGroup:
    return replace(_group(key, members), address=members[0].address)


def _error_group(key: str, members: list[DeadLetter], before_ms: int) -> DeadGroup:
    hours = [0] * TREND_HOURS
    for letter in members:
        hours_ago = (before_ms - 1 - letter.job.died_ms) // HOUR_MS
        if 0 <= hours_ago < TREND_HOURS:
            hours[-1 - hours_ago] += 1
    places = Counter((letter.address.pool, letter.address.namespace) for letter in members)
    return replace(_group(key, members), trend=tuple(hours), places=tuple(places.most_common()))


def read_deliveries(dead_queues: DeadQueues) -> int | None:
    """Jobs that these queues delivered within the last hour; one round trip per pool.

    None: there are more queues than DELIVERIES_QUEUES, or a pool is silent.
    """
    if len(dead_queues.queues) > DELIVERIES_QUEUES or dead_queues.away:
        return None
    total = 0
    for pool in {one.address.pool for one in dead_queues.queues}:
        names = [(one.address.namespace, one.address.queue) for one in dead_queues.queues if one.address.pool == pool]
        histories = histories_of_queues(pool=pool, queues=names, minutes=60)
        total += sum(minute.consumed for minutes in histories.values() for minute in minutes)
    return total


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
