"""Going through dead letters of many queues together, newest first, a bounded stretch at a time; and the verbs of one
queue's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from queues.engine import DEAD_SCAN_BATCH, DeadJob, DeadPage, respawn, scan_dead
from queues.engine.keys import QueueKeys
from queues.engine.operation import Plan
from queues.pools import reading_engine_for

from ..permissions import User
from .places import DeadFilter, DeadPlace, DeadPlaces, Place, Position, find_dead_places, pattern_of_job

LOOKS: Final = 2_000
"""Dead letters that one stretch looks at."""

PLACES_AT_ONCE: Final = 100
"""Queues that one stretch looks into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A dead letter that was found, and where."""

    place: Place
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
    looks: int = LOOKS,
) -> tuple[DeadPlaces, DeadStretch]:
    """The queues that come into question from `start` on, and what the next stretch of them holds.

    Raises NamespaceNotFoundError, InvalidArgumentError, MetadataUnavailableError, StoreUnavailableError.
    """
    places = find_dead_places(user=user, chosen=chosen, start=start, before_ms=before_ms)
    return places, scan_places(places=places, chosen=chosen, start=start, looks=looks)


def scan_places(*, places: DeadPlaces, chosen: DeadFilter, start: Position | None, looks: int) -> DeadStretch:
    """The next `looks` dead letters of the places. Raises StoreUnavailableError."""
    scans = [_PlaceScan(place, start, most) for place, most in _shares(places, looks)]
    while unfinished := [scan for scan in scans if not scan.is_done]:
        _scan_on(unfinished, chosen, places.before_ms)
    letters = tuple(
        DeadLetter(place=scan.at.place, job=job, pattern=pattern)
        for scan in scans
        for job in scan.jobs
        if chosen.matches(job, pattern := pattern_of_job(job))
    )
    looked_at = sum(len(scan.jobs) for scan in scans)
    position = _position_behind(places, scans)
    return DeadStretch(
        letters=letters,
        looked_at=looked_at,
        left=max(1, places.count - looked_at) if position else 0,
        position=position,
    )


class _PlaceScan:
    """How far one place has been looked through."""

    def __init__(self, at: DeadPlace, start: Position | None, most: int) -> None:
        self.at = at
        self.jobs: list[DeadJob] = []
        self.cursor = start.cursor if start is not None and start.place == at.place else None
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


def _shares(places: DeadPlaces, looks: int) -> Iterator[tuple[DeadPlace, int]]:
    """The first places, and how many looks are left for each: enough for all of them but the last."""
    for place in places.places[:PLACES_AT_ONCE]:
        if looks <= 0:
            return
        yield place, looks
        looks -= place.count


def _scan_on(scans: list[_PlaceScan], chosen: DeadFilter, before_ms: int) -> None:
    """One more page of each, in one round trip per pool."""
    for pool in {scan.at.place.pool for scan in scans}:
        engine = reading_engine_for(pool)
        of_pool = [scan for scan in scans if scan.at.place.pool == pool]
        pages = engine.batch(
            [
                scan_dead(
                    engine.queue(scan.at.place.namespace, scan.at.place.queue),
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


def _position_behind(places: DeadPlaces, scans: list[_PlaceScan]) -> Position | None:
    """Only the last place may have been left in its middle."""
    if scans and not scans[-1].is_at_end:
        return Position(place=scans[-1].at.place, cursor=scans[-1].cursor)
    if len(scans) < len(places.places):
        return Position(place=places.places[len(scans)].place)
    return None


def respawn_dead(
    *, queue: QueueKeys, ttl_s: int, limit: int | None = None, job_ids: Sequence[str] | None = None
) -> Plan[int]:
    """Make dead jobs ready with one more try and a new ttl: the `limit` oldest, or those named. Answers how many."""
    return respawn(queue, limit=limit, ids=job_ids, ttl_ms=ttl_s * 1000)
