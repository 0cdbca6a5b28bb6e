"""What the surveys of the pumps say of all queues of all pools, and what of it one person may see.

A survey is read once for all callers of the same moment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import reduce
from typing import Final, NamedTuple

from django.db import connections

from queues.engine import (
    FoundQueue,
    PartitionLoad,
    PumpBeat,
    StoreLoad,
    list_pumps,
    partition_load,
    read_survey,
    unpack_queues,
)
from queues.engine.errors import StoreUnavailableError, TaskqError
from queues.models import Pool
from queues.pools import engine_for, find_pool
from queues.pools.database import read_metadata

from ...pools.silences import note_answer, note_silence, now_ms
from ...pools.ttl_cache import Recent
from ..permissions import User, places_of, sees_everything

FRESH_S: Final = 2.0

PATIENCE_S: Final = 1.5
"""How long a page waits for a pool that does not answer. What comes later is there for the next page."""

OLD_MS: Final = 120_000
"""A survey older than this, or than three of its rounds, is no longer what is going on. The first round over ten
thousand queues that are new takes more than a minute."""

PUMP_SILENT_MS: Final = 10_000

POOLS_AT_ONCE: Final = 8


class Totals(NamedTuple):
    """Jobs by state, and rates per second, of some queues together."""

    queues: int = 0
    ready: int = 0
    delayed: int = 0
    retry: int = 0
    working: int = 0
    dead: int = 0
    completed: int = 0
    blocked: int = 0
    grouped: int = 0
    published_per_s: float = 0.0
    consumed_per_s: float = 0.0
    acked_per_s: float = 0.0
    failed_per_s: float = 0.0

    @property
    def jobs(self) -> int:
        """In all states."""
        waiting = self.ready + self.delayed + self.retry + self.blocked + self.grouped
        return waiting + self.working + self.dead + self.completed

    def plus(self, other: Totals) -> Totals:
        return Totals._make([one + another for one, another in zip(self, other, strict=True)])


NOTHING: Final = Totals()


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSurvey:
    """What is known of a pool. `taken_at_ms` None: no survey was made yet. Times by the clock of its Redis.

    `queues`, `totals`: by namespace. `left_out`: queues beyond those that a survey lists.
    """

    pool: str
    read_at_ms: int
    taken_at_ms: int | None
    took_ms: int
    left_out: int
    store: StoreLoad | None
    queues: Mapping[str, Sequence[FoundQueue]]
    totals: Mapping[str, Totals]
    pumps: tuple[PumpBeat, ...]
    partitions: tuple[PartitionLoad, ...]

    @property
    def age_ms(self) -> int | None:
        """How old it was when it was read."""
        return None if self.taken_at_ms is None else max(0, self.read_at_ms - self.taken_at_ms)

    @property
    def is_current(self) -> bool:
        """Whether it tells what is going on now."""
        return self.age_ms is not None and self.age_ms <= max(OLD_MS, 3 * self.took_ms)

    @property
    def live_pumps(self) -> tuple[PumpBeat, ...]:
        return tuple(pump for pump in self.pumps if pump.age_ms < PUMP_SILENT_MS)

    @property
    def behind_ms(self) -> int:
        """How long the earliest job that is due, or whose lease or retention has ended, has waited for a pump."""
        return max((max(part.due_behind_ms, part.ends_behind_ms) for part in self.partitions), default=0)


_surveys: Final[Recent[str, PoolSurvey | TaskqError]] = Recent(FRESH_S)

_threads: Final = ThreadPoolExecutor(max_workers=POOLS_AT_ONCE, thread_name_prefix="survey")


def read_pool_survey(*, pool: str) -> PoolSurvey:
    """The latest survey, at most FRESH_S old. Raises PoolNotFoundError, StoreUnavailableError, LayoutError,
    MetadataUnavailableError."""
    found = read_pool_surveys(pools=[pool])[pool]
    if isinstance(found, TaskqError):
        raise found
    return found


def read_pool_surveys(*, pools: Collection[str]) -> Mapping[str, PoolSurvey | TaskqError]:
    """Those of several pools, side by side, or why there is none: a dead pool delays no other.

    One round trip to each pool that nobody has asked within FRESH_S.
    """
    at_hand = {pool: known for pool in pools if (known := _surveys.peek(pool)) is not None}
    flights: dict[str, Future[PoolSurvey | TaskqError]] = {}
    for pool in set(pools) - at_hand.keys():
        try:
            find_pool(pool)  # so that the thread finds the row in memory and needs no database connection
        except TaskqError as error:
            flights[pool] = Future()
            flights[pool].set_result(error)
        else:
            flights[pool] = _threads.submit(_recent, pool)
    wait(flights.values(), timeout=PATIENCE_S)
    answers = {pool: flight.result() if flight.done() else _silence(flight) for pool, flight in flights.items()}
    return at_hand | answers


def _silence(flight: Future[PoolSurvey | TaskqError]) -> TaskqError:
    flight.cancel()  # one that has begun goes on
    return StoreUnavailableError("survey: Redis does not answer in time")


def _recent(pool: str) -> PoolSurvey | TaskqError:
    return _surveys.get(pool, lambda: _read(pool))


def _read(pool: str) -> PoolSurvey | TaskqError:
    """A fault is an answer too: not everybody who looks has to wait for it."""
    asked_ms = now_ms()
    try:
        engine = engine_for(pool)
        partitions = range(engine.layout.partitions)
        written, pumps, *loads = engine.batch([read_survey(), list_pumps(), *map(partition_load, partitions)])
    except StoreUnavailableError as error:
        note_silence(pool, asked_ms=asked_ms)
        return error
    except TaskqError as error:
        return error
    finally:
        connections.close_all()  # those of this thread, if it needed any after all
    note_answer(pool)
    head = written.head
    queues = {name: unpack_queues(name, content) for name, content in written.contents.items()}
    return PoolSurvey(
        pool=pool,
        read_at_ms=written.now_ms,
        taken_at_ms=None if head is None else head.taken_at_ms,
        took_ms=0 if head is None else head.took_ms,
        left_out=0 if head is None else head.left_out,
        store=None if head is None else head.store,
        queues=queues,
        totals={name: add_up(found) for name, found in queues.items()},
        pumps=pumps,
        partitions=tuple(loads),
    )


def add_up(queues: Sequence[FoundQueue]) -> Totals:
    """The sums over some queues."""
    columns = ("ready", "delayed", "retry", "working", "dead", "completed", "blocked", "grouped")
    rates = ("published_per_s", "consumed_per_s", "acked_per_s", "failed_per_s")
    numbers = {name: sum([getattr(queue, name) for queue in queues]) for name in (*columns, *rates)}
    return Totals(queues=len(queues), **numbers)


POOLS_MAX: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class VisiblePool:
    """A pool as one person sees it. `survey` None: it cannot be read; `trouble` says why, `is_away`: for want of an
    answer."""

    pool: str
    namespaces: frozenset[str]
    survey: PoolSurvey | None
    trouble: str = ""
    is_away: bool = False

    @property
    def is_known(self) -> bool:
        """Whether there is a survey, new or old."""
        return self.survey is not None and self.survey.taken_at_ms is not None

    @property
    def queues(self) -> Iterator[FoundQueue]:
        """Those of the person's namespaces, by namespace and as the survey came by."""
        if self.survey is not None:
            for namespace, queues in self.survey.queues.items():
                if namespace in self.namespaces:
                    yield from queues

    @property
    def totals(self) -> Totals:
        if self.survey is None:
            return NOTHING
        mine = [totals for namespace, totals in self.survey.totals.items() if namespace in self.namespaces]
        return reduce(Totals.plus, mine, NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class VisiblePools:
    """`sees_everything`: a superuser, who also sees pools without namespaces."""

    pools: tuple[VisiblePool, ...]
    sees_everything: bool

    @property
    def totals(self) -> Totals:
        return reduce(Totals.plus, [view.totals for view in self.pools], NOTHING)

    @property
    def known_totals(self) -> Totals | None:
        """The sums of the pools that were surveyed; None: there are pools, and of none is anything known."""
        known = any(view.is_known for view in self.pools)
        return self.totals if known or not self.pools else None

    @property
    def away(self) -> tuple[str, ...]:
        """Pools of which nothing can be said."""
        return tuple(view.pool for view in self.pools if view.survey is None)

    @property
    def are_away(self) -> bool:
        """Whether no pool answers, of those that there are."""
        return bool(self.pools) and all(view.is_away for view in self.pools)

    @property
    def outdated(self) -> tuple[str, ...]:
        """Pools of which only old news can be told, or none yet."""
        return tuple(view.pool for view in self.pools if view.survey is not None and not view.survey.is_current)

    @property
    def namespaces(self) -> tuple[tuple[str, str], ...]:
        """Pool and name of each."""
        return tuple((view.pool, namespace) for view in self.pools for namespace in sorted(view.namespaces))


def visible_pools(*, user: User) -> VisiblePools:
    """What `user` sees now, by pool: at most two queries and one round trip to each pool. Raises
    MetadataUnavailableError."""
    namespaces = namespaces_by_pool(user=user)
    surveys = read_pool_surveys(pools=namespaces)
    pools = tuple(_visible_pool(pool, frozenset(namespaces[pool]), surveys) for pool in sorted(namespaces))
    return VisiblePools(pools=pools, sees_everything=sees_everything(user))


def namespaces_by_pool(*, user: User) -> Mapping[str, Set[str]]:
    """Those that `user` sees; a superuser also sees pools without any. At most two queries. Raises
    MetadataUnavailableError."""
    namespaces: dict[str, set[str]] = {}
    if sees_everything(user):
        names = Pool.objects.order_by("name").values_list("name", flat=True)[:POOLS_MAX]
        namespaces = {name: set() for name in read_metadata(lambda: list(names))}
    for pool, namespace in places_of(user=user):
        namespaces.setdefault(pool, set()).add(namespace)
    return namespaces


def _visible_pool(pool: str, namespaces: frozenset[str], surveys: Mapping[str, PoolSurvey | TaskqError]) -> VisiblePool:
    found = surveys[pool]
    if isinstance(found, PoolSurvey):
        return VisiblePool(pool=pool, namespaces=namespaces, survey=found)
    return VisiblePool(
        pool=pool,
        namespaces=namespaces,
        survey=None,
        trouble=str(found),
        is_away=isinstance(found, StoreUnavailableError),
    )
