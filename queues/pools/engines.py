"""Pool name → engine for threads: one per pool and process, opened on first use and anew when its row changes."""

from __future__ import annotations

import threading
from collections import defaultdict
from contextlib import suppress

from queues.engine import Engine, open_engine
from queues.engine.errors import TaskqError

from .errors import MetadataUnavailableError, PoolNotFoundError
from .refusals import Refusals
from .rows import PoolRow, find_pool, which_are_gone
from .sweeping import SweepClock

_open: dict[str, tuple[PoolRow, Engine]] = {}
_opening: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
_refusals = Refusals()
_sweep_clock = SweepClock()


def engine_for(pool: str) -> Engine:
    """The engine of a pool. Raises PoolNotFoundError, MetadataUnavailableError, StoreUnavailableError, LayoutError.

    An engine whose row changed or was deleted is dropped, not closed: other threads may be in the middle of a call. Its
    connections close when the last of them lets go.
    """
    try:
        row = find_pool(pool)
    except PoolNotFoundError:
        _open.pop(pool, None)
        raise
    if _sweep_clock.is_due():
        _drop_deleted()
    known = _open.get(pool)
    if known is None or known[0] != row:
        with _opening[pool]:
            known = _open.get(pool)
            if known is None or known[0] != row:
                known = _open[pool] = (row, _open_row(row))
    return known[1]


def _drop_deleted() -> None:
    with suppress(MetadataUnavailableError):  # then the next time will do
        for name in which_are_gone(tuple(_open)):
            _open.pop(name, None)


def _open_row(row: PoolRow) -> Engine:
    _refusals.raise_recent(row)
    try:
        return open_engine(row.url, partitions=row.partitions)
    except TaskqError as error:
        _refusals.note(row, error)
        raise


def close_engines() -> None:
    """Close all of them. For the end of a process, and between tests."""
    while _open:
        _, (_, engine) = _open.popitem()
        engine.close()
