"""Filters dead letters, and finds the queues that hold such letters, of those that a person may see."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from queues.engine import DeadJob, FoundQueue, constants, list_queues, parse_dead_cursor, scan_dead
from queues.engine.errors import StoreUnavailableError
from queues.engine.names import check_namespace, check_queue, is_name
from queues.lake.error_patterns import pattern_of
from queues.pools import reading_engine_for

from ..errors import InvalidArgumentError, NamespaceNotFoundError
from ..permissions import Role, User, roles_of
from ..queues.visible_queues import read_pool_survey

ERROR_MAX = 1_024
"""Characters of a text that errors are looked through for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadFilter:
    """What is left empty lets everything through.

    `error`: text somewhere in the last error, in upper or lower case. `like`: an error's whole pattern
    (`error_patterns`). `day`: when it died, in UTC.
    """

    pool: str = ""
    namespace: str = ""
    queue: str = ""
    error: str = ""
    like: str = ""
    day: date | None = None

    @property
    def reads_errors(self) -> bool:
        """Whether each dead letter must be looked at to tell: their number alone says nothing."""
        return bool(self.error or self.like)

    @property
    def since_ms(self) -> int:
        """The first instant of the day."""
        return 0 if self.day is None else _midnight_ms(self.day)

    @property
    def before_ms(self) -> int | None:
        """The first instant after the day."""
        return None if self.day is None else _midnight_ms(self.day + timedelta(days=1))

    def matches(self, job: DeadJob, pattern: str) -> bool:
        """Whether its error is meant. The scan itself checks queue and day."""
        if self.like and pattern != self.like:
            return False
        return not self.error or self.error.lower() in job.error.lower() or self.error.lower() in pattern.lower()


def read_filter(
    *, pool: str = "", namespace: str = "", queue: str = "", error: str = "", like: str = "", day: str = ""
) -> DeadFilter:
    """A filter from what a URL says. Raises InvalidArgumentError."""
    for name in filter(None, (pool, namespace)):
        check_namespace(name)
    if queue:
        check_queue(queue)
    if max(len(error), len(like)) > ERROR_MAX:
        raise InvalidArgumentError("invalid error")
    return DeadFilter(pool=pool, namespace=namespace, queue=queue, error=error.strip(), like=like, day=read_day(day))


def read_day(text: str) -> date | None:
    """`2026-11-21`; None for an empty text. Raises InvalidArgumentError."""
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise InvalidArgumentError("invalid day") from None
    if not 1970 <= day.year <= 9998:
        raise InvalidArgumentError("invalid day")
    return day


def pattern_of_job(job: DeadJob) -> str:
    """The pattern of its last error."""
    return pattern_of(error=job.error, outcome=job.outcome)


def _midnight_ms(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)


QUEUES_MAX: Final = 2_000
"""Queues with dead letters that one page knows of, per pool; the filter finds the others."""

NAMESPACES_WALKED: Final = 50
"""Of no more namespaces per pool, and QUEUES_MAX queues, each queue is asked; of more, those that the survey names."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class QueueAddress:
    """A queue, by its names. Queues are looked through in the order of these."""

    pool: str
    namespace: str
    queue: str

    def __str__(self) -> str:
        return f"{self.pool}/{self.namespace}/{self.queue}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a scan goes on: in the queue `address`, behind `cursor` (None: from its newest dead letter on)."""

    address: QueueAddress
    cursor: str | None = None

    def __str__(self) -> str:
        return f"{self.address}|{self.cursor or ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadQueue:
    """A queue with dead letters within the filter's span of time, or what is left of them behind a position."""

    address: QueueAddress
    role: Role
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadQueues:
    """`before_ms`: what died from then on is not meant. `is_whole`: there are no others. `away`: silent pools.

    `asked_ms`: when they were counted, by the clock that is furthest behind; 0 when there was nothing to count.
    """

    queues: tuple[DeadQueue, ...]
    before_ms: int
    asked_ms: int
    is_whole: bool
    away: tuple[str, ...]

    @property
    def count(self) -> int:
        """Dead letters in all of them, whatever their errors."""
        return sum(queue.count for queue in self.queues)


def read_position(text: str) -> Position | None:
    """The inverse of `str(position)`; None for an empty text. Raises InvalidArgumentError."""
    if not text:
        return None
    where, _, cursor = text.partition("|")
    parse_dead_cursor(cursor)
    return Position(address=read_address(where), cursor=cursor or None)


def position_of(address: QueueAddress, job: DeadJob) -> Position:
    """Behind `job`."""
    return Position(address=address, cursor=f"{job.died_ms}:{job.job_id}")


def read_address(text: str) -> QueueAddress:
    """The inverse of `str(address)`. Raises InvalidArgumentError."""
    parts = text.split("/")
    if len(parts) != 3 or not (is_name(parts[0]) and is_name(parts[1])):
        raise InvalidArgumentError("invalid queue")
    check_queue(parts[2])
    return QueueAddress(pool=parts[0], namespace=parts[1], queue=parts[2])


def find_dead_queues(
    *, user: User, chosen: DeadFilter, start: Position | None = None, before_ms: int | None = None, since_ms: int = 0
) -> DeadQueues:
    """Queues with dead letters that `chosen` may mean and that died from `since_ms` on, in order, from `start` on.

    Raises NamespaceNotFoundError if the filter names a namespace that `user` may not see; MetadataUnavailableError;
    StoreUnavailableError if no pool answers.
    """
    found: list[DeadQueue] = []
    away: list[str] = []
    is_whole = True
    clocks: list[int] = []
    roles = _roles_within(user, chosen)
    pools = dict.fromkeys(pool for pool, _ in roles)
    trouble: StoreUnavailableError | None = None
    for pool in pools:
        if start is not None and pool < start.address.pool:
            continue
        try:
            names, all_of_them = _queues_of(pool, [namespace for owner, namespace in roles if owner == pool], chosen)
            counts, now_ms = _count(pool, names, chosen, start, before_ms, since_ms)
        except StoreUnavailableError as error:
            away.append(pool)
            trouble = error
            continue
        is_whole = is_whole and all_of_them
        clocks += [now_ms] if now_ms else []
        found += [
            DeadQueue(address=address, role=roles[address.pool, address.namespace], count=count)
            for address, count in counts
            if count
        ]
    if trouble is not None and len(away) == len(pools):
        raise trouble
    return DeadQueues(
        queues=tuple(sorted(found, key=lambda one: one.address)),
        before_ms=_end_of(chosen, max(clocks, default=0)) if before_ms is None else before_ms,
        asked_ms=min(clocks, default=0),
        is_whole=is_whole,
        away=tuple(away),
    )


def _end_of(chosen: DeadFilter, now_ms: int) -> int:
    """What has died by now, even if the day that is meant is not over."""
    return now_ms + 1 if chosen.before_ms is None else min(chosen.before_ms, now_ms + 1)


def find_dead_queues_of(*, pool: str, namespace: str) -> DeadQueues:
    """The queues of one namespace with dead letters, for users who may see all of it. Raises StoreUnavailableError."""
    names, is_whole = _queues_of(pool, [namespace], DeadFilter())
    counts, now_ms = _count(pool, names, DeadFilter(), None, None, 0)
    queues = [DeadQueue(address=address, role=Role.ADMIN, count=count) for address, count in counts if count]
    return DeadQueues(
        queues=tuple(sorted(queues, key=lambda one: one.address)),
        before_ms=now_ms + 1,
        asked_ms=now_ms,
        is_whole=is_whole,
        away=(),
    )


def _roles_within(user: User, chosen: DeadFilter) -> dict[tuple[str, str], Role]:
    roles = {
        (pool, namespace): role
        for (pool, namespace), role in roles_of(user=user).items()
        if chosen.pool in ("", pool) and chosen.namespace in ("", namespace)
    }
    if chosen.namespace and not roles:
        raise NamespaceNotFoundError
    return roles


def _queues_of(pool: str, namespaces: Sequence[str], chosen: DeadFilter) -> tuple[list[QueueAddress], bool]:
    """Queues that may hold dead letters, and whether these are all."""
    if chosen.queue:
        names = [QueueAddress(pool=pool, namespace=namespace, queue=chosen.queue) for namespace in namespaces]
        return names[:QUEUES_MAX], len(names) <= QUEUES_MAX
    survey = read_pool_survey(pool=pool)
    if survey.is_current:
        known = [found for namespace in namespaces for found in survey.queues.get(namespace, ())]
        if len(known) > QUEUES_MAX or len(namespaces) > NAMESPACES_WALKED:
            return _of_survey(pool, known, is_whole=not survey.left_out)
    return _walk(pool, namespaces)


def _of_survey(pool: str, known: Sequence[FoundQueue], *, is_whole: bool) -> tuple[list[QueueAddress], bool]:
    """Those with the most dead letters. One that got its first since the survey is found by the next."""
    full = [found for found in known if found.dead]
    most = heapq.nlargest(QUEUES_MAX, full, key=lambda found: found.dead)
    names = [QueueAddress(pool=pool, namespace=found.namespace, queue=found.queue) for found in most]
    return names, is_whole and len(full) <= QUEUES_MAX


def _walk(pool: str, namespaces: Sequence[str]) -> tuple[list[QueueAddress], bool]:
    """All queues, as of now."""
    engine = reading_engine_for(pool)
    names: list[QueueAddress] = []
    for number, namespace in enumerate(namespaces):
        most = min(QUEUES_MAX - len(names), constants.PAGE_MAX)
        if not most or number == NAMESPACES_WALKED:
            return names, False
        page = engine.run(list_queues(engine.layout, namespace, limit=most))
        names += [QueueAddress(pool=pool, namespace=namespace, queue=queue) for queue in page.names]
        if page.after is not None:
            return names, False
    return names, True


def _count(
    pool: str,
    names: Sequence[QueueAddress],
    chosen: DeadFilter,
    start: Position | None,
    before_ms: int | None,
    since_ms: int,
) -> tuple[list[tuple[QueueAddress, int]], int]:
    """How many dead letters each has from `start` on, and the server's time; one round trip."""
    engine = reading_engine_for(pool)
    asked = [address for address in names if start is None or address >= start.address]
    if not asked:
        return [], 0
    before = before_ms if before_ms is not None else chosen.before_ms
    pages = engine.batch(
        [
            scan_dead(
                engine.queue(address.namespace, address.queue),
                since_ms=max(chosen.since_ms, since_ms),
                before_ms=before,
                after=start.cursor if start is not None and address == start.address else None,
                limit=0,
            )
            for address in asked
        ]
    )
    return [(address, page.left) for address, page in zip(asked, pages, strict=True)], max(
        page.now_ms for page in pages
    )
