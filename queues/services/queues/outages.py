"""Which of a person's pools do not answer, and since when.

Every open page asks every few seconds, so the answer is one short question to each pool, kept for FRESH_S for all
callers of this process, and no caller waits longer than PATIENCE_S.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Final

from django.db import connections

from queues.engine import server_time
from queues.engine.errors import StoreUnavailableError, TaskqError
from queues.pools import find_pool, reading_engine_for

from ...pools.silences import note_answer, note_silence, now_ms, silent_since_ms
from ...pools.ttl_cache import Recent
from ..permissions import User
from .visible_queues import VisiblePools, namespaces_by_pool

FRESH_S: Final = 2.0
PATIENCE_S: Final = 1.8
"""A little longer than a reading engine waits for a reply."""

POOLS_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A pool that does not answer; its last answer was at `since_ms`, by the clock of this host."""

    pool: str
    since_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outages:
    """Those of one person's pools, by name. `is_total`: no pool of theirs answers."""

    away: tuple[Outage, ...] = ()
    is_total: bool = False

    @property
    def since_ms(self) -> int:
        """Of the first to fall silent."""
        return min(one.since_ms for one in self.away)


_silences: Final[Recent[str, int | None]] = Recent(FRESH_S)
"""By pool: None if it answers, else since when it does not."""

_threads: Final = ThreadPoolExecutor(max_workers=POOLS_AT_ONCE, thread_name_prefix="outages")


def read_outages(*, user: User) -> Outages:
    """Ask the pools that `user` sees whether they answer. Raises MetadataUnavailableError."""
    pools = sorted(namespaces_by_pool(user=user))
    found = _ask_all(pools)
    away = tuple(Outage(pool=pool, since_ms=since_ms) for pool in pools if (since_ms := found[pool]) is not None)
    return Outages(away=away, is_total=bool(away) and len(away) == len(pools))


def outages_of(visible: VisiblePools) -> Outages:
    """What was found out when these were read; nobody is asked."""
    pools = [view.pool for view in visible.pools if view.is_away]
    return Outages(away=tuple(_outage(pool) for pool in pools), is_total=visible.are_away)


def known_outages(*, user: User) -> Outages:
    """What is known after a question to a pool of `user` was not answered; nobody is asked. Raises
    MetadataUnavailableError."""
    pools = sorted(namespaces_by_pool(user=user))
    away = pools if len(pools) == 1 else [pool for pool in pools if silent_since_ms(pool) is not None]
    return Outages(away=tuple(_outage(pool) for pool in away), is_total=bool(away) and len(away) == len(pools))


def _outage(pool: str) -> Outage:
    return Outage(pool=pool, since_ms=note_silence(pool, asked_ms=now_ms()))


def _ask_all(pools: list[str]) -> Mapping[str, int | None]:
    flights: dict[str, Future[int | None]] = {}
    for pool in pools:
        try:
            find_pool(pool)  # so that the thread finds the row in memory and needs no database connection
        except TaskqError:
            flights[pool] = Future()
            flights[pool].set_result(None)
        else:
            flights[pool] = _threads.submit(_silence_of, pool)
    wait(flights.values(), timeout=PATIENCE_S)
    return {pool: flight.result() if flight.done() else _give_up(pool, flight) for pool, flight in flights.items()}


def _silence_of(pool: str) -> int | None:
    return _silences.get(pool, lambda: _ask(pool))


def _ask(pool: str) -> int | None:
    asked_ms = now_ms()
    try:
        reading_engine_for(pool).run(server_time())
    except StoreUnavailableError:
        return note_silence(pool, asked_ms=asked_ms)
    except TaskqError:
        return None  # it has other troubles, of which pages tell
    finally:
        connections.close_all()  # those of this thread, if it needed any after all
    note_answer(pool)
    return None


def _give_up(pool: str, flight: Future[int | None]) -> int | None:
    """One that waits behind others tells nothing of its pool but what is known already."""
    return silent_since_ms(pool) if flight.cancel() else note_silence(pool, asked_ms=now_ms())
