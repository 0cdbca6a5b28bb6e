"""Pool name → engine for threads: one per pool and process, opened on first use and anew when its row changes.

Pages that only read have engines of their own, which give up sooner: a blank page for five seconds is too long, and
nothing is in doubt when a question stays without an answer. What changes something waits longer.

A thread may have a time limit: past it, its next question to Redis or the database raises.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, Final

from django.conf import settings
from django.db import connection

from queues.engine import Engine, open_engine
from queues.engine.errors import TaskqError
from queues.engine.transport.connection import REPLY_TIMEOUT_S

from .database import MetadataUnavailableError, PoolNotFoundError
from .rows import PoolRow, Refusals, SweepClock, find_pool, which_are_gone


class WorkTimeoutError(BaseException):
    """The time limit is over. Not an Exception, so that no handler of failures goes on in spite of it."""


class _Deadline(threading.local):
    at: float | None = None


_deadline = _Deadline()


@contextmanager
def end_work_at(at: float) -> Iterator[None]:
    """Within the block this thread may ask Redis and the database until `at`, in seconds of the monotonic clock."""
    _deadline.at = at
    try:
        with connection.execute_wrapper(_check_query):
            yield
    finally:
        _deadline.at = None


def check_deadline() -> None:
    """Raise WorkTimeoutError if this thread's time is over."""
    if _deadline.at is not None and monotonic() > _deadline.at:
        raise WorkTimeoutError


def _check_query(execute: Callable[..., Any], *args: Any) -> Any:
    check_deadline()
    return execute(*args)


LOOK_TIMEOUT_S: Final = 1.5
"""How long an engine of `reading_engine_for` waits for a reply."""

_Key = tuple[str, float]
"""Pool name and timeout."""

_open: dict[_Key, tuple[PoolRow, Engine]] = {}
_opening: defaultdict[_Key, threading.Lock] = defaultdict(threading.Lock)
_refusals = Refusals()
_sweep_clock = SweepClock()


def engine_for(pool: str) -> Engine:
    """The engine of a pool. Raises PoolNotFoundError, MetadataUnavailableError, StoreUnavailableError, LayoutError.

    An engine whose row changed or was deleted is dropped, not closed: other threads may be in the middle of a call. Its
    connections close when the last of them lets go.
    """
    return _engine_for((pool, REPLY_TIMEOUT_S))


def reading_engine_for(pool: str) -> Engine:
    """The same for who only looks: no reply within LOOK_TIMEOUT_S is StoreUnavailableError."""
    return _engine_for((pool, LOOK_TIMEOUT_S))


def _engine_for(key: _Key) -> Engine:
    pool, timeout_s = key
    try:
        row = find_pool(pool)
    except PoolNotFoundError:
        _open.pop(key, None)
        raise
    if _sweep_clock.is_due():
        _drop_deleted()
    known = _open.get(key)
    if known is None or known[0] != row:
        with _opening[key]:
            known = _open.get(key)
            if known is None or known[0] != row:
                known = _open[key] = (row, _open_row(row, timeout_s))
    return known[1]


def _drop_deleted() -> None:
    with suppress(MetadataUnavailableError):  # then the next time will do
        gone = which_are_gone({name for name, _timeout in tuple(_open)})
        for key in tuple(_open):
            if key[0] in gone:
                _open.pop(key, None)


def _open_row(row: PoolRow, timeout_s: float) -> Engine:
    _refusals.raise_recent(row)
    try:
        return open_engine(
            row.url,
            partitions=row.partitions,
            events_memory=row.events_memory,
            reply_timeout_s=timeout_s,
            min_replicas=row.min_replicas,
            replication_timeout_s=settings.TASKQ_REPLICATION_TIMEOUT_MS / 1000,
            before_call=check_deadline,
        )
    except TaskqError as error:
        _refusals.note(row, error)
        raise


def close_engines() -> None:
    """Close all of them. For the end of a process, and between tests."""
    while _open:
        _, (_, engine) = _open.popitem()
        engine.close()
