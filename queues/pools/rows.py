"""Pool rows as values."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from queues.engine.errors import InvalidArgumentError
from queues.engine.limits import MEBIBYTE
from queues.engine.names import check_namespace
from queues.models import Pool

from .errors import PoolNotFoundError
from .reading import read_metadata
from .remembered import Remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRow:
    """What it takes to open a pool. `url` may hold a password and is left out of the repr. `events_memory`: bytes."""

    name: str
    url: str = field(repr=False)
    partitions: int
    min_replicas: int
    events_memory: int


_rows: Remembered[str, PoolRow] = Remembered()


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
        events_memory=pool.events_memory_mb * MEBIBYTE,
    )
