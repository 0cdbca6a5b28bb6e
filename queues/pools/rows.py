"""Pool rows as values; which of them could not be opened lately, and when to look for rows that were deleted."""

from __future__ import annotations

import time
from collections.abc import Collection
from copy import copy
from dataclasses import dataclass, field
from typing import Final

from queues.engine.constants import MEBIBYTE
from queues.engine.errors import InvalidArgumentError, TaskqError
from queues.engine.names import check_namespace
from queues.models import Pool

from .database import PoolNotFoundError, read_metadata
from .ttl_cache import TtlCache


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRow:
    """What it takes to open a pool. `url` may hold a password and is left out of the repr. `events_memory`: bytes;
    None: as the server's memory has it."""

    name: str
    url: str = field(repr=False)
    partitions: int
    min_replicas: int
    events_memory: int | None


_rows: TtlCache[str, PoolRow] = TtlCache()


def find_pool(name: str) -> PoolRow:
    """The pool of this name, at most a second old. Raises PoolNotFoundError, MetadataUnavailableError."""
    check_pool_name(name)
    return _rows.get(name, lambda _old: _read(name))


def peek_pool(name: str) -> PoolRow | None:
    """The same from memory alone; None: ask `find_pool`, which may take the time of a database query."""
    return _rows.peek(name)


def which_are_gone(names: Collection[str]) -> set[str]:
    """Those of the pools that were deleted. Raises MetadataUnavailableError."""
    return set(names) - read_metadata(lambda: set(Pool.objects.filter(name__in=names).values_list("name", flat=True)))


def check_pool_name(name: str) -> None:
    """Raise PoolNotFoundError for what no pool can be called, and no database need be asked about (it may choke)."""
    try:
        check_namespace(name)
    except InvalidArgumentError:
        raise PoolNotFoundError from None


def _read(name: str) -> PoolRow:
    pool = Pool.objects.filter(name=name).first()
    if pool is None:
        raise PoolNotFoundError
    return PoolRow(
        name=pool.name,
        url=pool.effective_url,
        partitions=pool.partitions,
        min_replicas=pool.min_replicas,
        events_memory=None if pool.events_memory_mb is None else pool.events_memory_mb * MEBIBYTE,
    )


PAUSE_S: Final = 0.5


class Refusals:
    """Why rows could not be opened lately."""

    def __init__(self) -> None:
        self._by_row: dict[PoolRow, tuple[float, TaskqError]] = {}

    def note(self, row: PoolRow, error: TaskqError) -> None:
        """`row` could not be opened just now."""
        self._by_row[row] = (time.monotonic(), error)

    def raise_recent(self, row: PoolRow) -> None:
        """Raise the same error again if it is less than PAUSE_S old."""
        at, error = self._by_row.get(row, (0.0, None))
        if error is None:
            return
        if time.monotonic() - at < PAUSE_S:
            raise copy(error) from error
        self._by_row.pop(row, None)


SWEEP_EVERY_S: Final = 60.0


class SweepClock:
    """Is due every SWEEP_EVERY_S. Two threads may both find it due: a second sweep does no harm."""

    def __init__(self) -> None:
        self._next_at = time.monotonic() + SWEEP_EVERY_S

    def is_due(self) -> bool:
        """Whether it is time; if so, the next time is set."""
        now = time.monotonic()
        if now < self._next_at:
            return False
        self._next_at = now + SWEEP_EVERY_S
        return True
