"""Pool name → engine: one per pool and process for threads, one per pool and event loop for asyncio.

An engine is opened on first use and anew when its pool's row changes.

Pages that only read have engines of their own, which give up sooner: a blank page for five seconds is too long, and
nothing is in doubt when a question stays without an answer. What changes something waits longer.

A thread may have a time limit: past it, its next question to Redis or the database raises.
"""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from time import monotonic
from typing import Any, Final
from weakref import WeakKeyDictionary

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connection

from queues.engine import AsyncEngine, Engine, open_async_engine, open_engine
from queues.engine.errors import TaskqError
from queues.engine.transport.connection import REPLY_TIMEOUT_S

from .cache_invalidation import dispatch, dispatch_gap
from .database import MetadataUnavailableError, PoolNotFoundError
from .rows import PoolRow, Refusals, SweepClock, find_pool, peek_pool, which_are_gone

LOOK_TIMEOUT_S: Final = 1.5
"""How long an engine of `reading_engine_for` waits for a reply."""


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


class _Engines:
    """The engines of one event loop."""

    def __init__(self) -> None:
        self.open: dict[str, tuple[PoolRow, AsyncEngine]] = {}
        self.opening: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.refusals = Refusals()
        self.closing: set[asyncio.Task[None]] = set()
        self.sweep_clock = SweepClock()

    async def get(self, row: PoolRow) -> AsyncEngine:
        known = self.open.get(row.name)
        if known is None or known[0] != row:
            async with self.opening[row.name]:
                known = self.open.get(row.name)
                if known is None or known[0] != row:
                    known = await self._replace(row)
        return known[1]

    async def _replace(self, row: PoolRow) -> tuple[PoolRow, AsyncEngine]:
        """Open the new one first: if that fails, the old one stays."""
        self.refusals.raise_recent(row)
        try:
            engine = await open_async_engine(
                row.url,
                partitions=row.partitions,
                events_memory=row.events_memory,
                min_replicas=row.min_replicas,
                replication_timeout_s=settings.TASKQ_REPLICATION_TIMEOUT_MS / 1000,
            )
            new = (row, engine)
        except TaskqError as error:
            self.refusals.note(row, error)
            raise
        new[1].follow_notices(dispatch, partial(dispatch_gap, row.name))
        old = self.open.get(row.name)
        self.open[row.name] = new
        if old is not None:
            self._start(old[1].close())
        return new

    def drop(self, pool: str) -> None:
        """Close the engine of a pool that was deleted, if there is one."""
        _, engine = self.open.pop(pool, (None, None))
        if engine is not None:
            self._start(engine.close())

    def sweep(self) -> None:
        """Now and then, look for deleted pools beside the calls."""
        if self.sweep_clock.is_due():
            self._start(self._drop_deleted())

    async def _drop_deleted(self) -> None:
        with suppress(MetadataUnavailableError):  # then the next time will do
            for name in await sync_to_async(which_are_gone)(tuple(self.open)):
                self.drop(name)

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self.closing.add(task)
        task.add_done_callback(self.closing.discard)

    async def close(self) -> None:
        while self.open:
            _, (_, engine) = self.open.popitem()
            await engine.close()
        while self.closing:  # a sweep may have found more to close
            await asyncio.wait(self.closing)


_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, _Engines] = WeakKeyDictionary()


async def async_engine_for(pool: str) -> AsyncEngine:
    """The engine of a pool for the running loop. Raises as `engine_for` does."""
    loop = asyncio.get_running_loop()
    engines = _by_loop.get(loop)
    if engines is None:
        engines = _by_loop[loop] = _Engines()
    try:
        row = peek_pool(pool) or await sync_to_async(find_pool)(pool)
    except PoolNotFoundError:
        engines.drop(pool)
        raise
    engines.sweep()
    return await engines.get(row)


class _Here(threading.local):
    """The loop that this thread ran last, and its engines."""

    loop: asyncio.AbstractEventLoop | None = None
    engines: _Engines | None = None


_here = _Here()


def _engines_here() -> _Engines | None:
    """The running loop's. A thread runs one loop at a time, so the one remembered is it if it runs; to ask asyncio for
    the running loop would take a system call (Python 3.11), which is a lot for what each request does."""
    if _here.loop is None or not _here.loop.is_running():
        _here.loop = asyncio.get_running_loop()
        _here.engines = None
    if _here.engines is None:
        _here.engines = _by_loop.get(_here.loop)
    return _here.engines


def peek_async_engine(pool: str) -> AsyncEngine | None:
    """The same without waiting: the engine that is open, if memory knows that its row is still the same."""
    engines = _engines_here()
    known = None if engines is None else engines.open.get(pool)
    if engines is None or known is None or peek_pool(pool) != known[0]:
        return None
    engines.sweep()
    return known[1]


def open_async_engines() -> tuple[AsyncEngine, ...]:
    """All that are open in this process."""
    return tuple([engine for engines in tuple(_by_loop.values()) for _, engine in tuple(engines.open.values())])


async def close_async_engines() -> None:
    """End all long polls without a job, then close the running loop's engines."""
    engines = _by_loop.pop(asyncio.get_running_loop(), None)
    _here.loop = None
    if engines is not None:
        await engines.close()
