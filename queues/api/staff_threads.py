"""Where passwords are checked: a thread of its own, so that guessing them keeps no client's request waiting.

A check costs as much as a password hash is meant to cost. Whoever sends passwords, right or wrong, gets at most one
processor's worth of attention, and the line in front of it is short.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

from .errors import StaffBusyError
from .metadata_threads import leave_connection_tidy

T = TypeVar("T")

THREADS: Final = 1
LINE_MAX: Final = 8
"""Checks that wait or are under way. A line is worth standing in only if it ends within seconds."""


class StaffThreads:
    """Runs checks one after the other, and refuses those that would have to wait for long."""

    def __init__(self, *, threads: int = THREADS, line_max: int = LINE_MAX) -> None:
        self._threads = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="taskq-staff")
        self._line_max = line_max
        self._lock = threading.Lock()
        self._length = 0

    async def call(self, function: Callable[..., T], *args: Any) -> T:
        """Run `function` here. Raises StaffBusyError. A caller who is cancelled leaves the line."""
        with self._lock:
            if self._length >= self._line_max:
                raise StaffBusyError("too many sign-ins")
            self._length += 1
        try:
            future = self._threads.submit(partial(leave_connection_tidy, function, *args))
        except BaseException:
            self._leave()
            raise
        future.add_done_callback(self._leave)
        return await asyncio.wrap_future(future)

    def _leave(self, _future: Future[Any] | None = None) -> None:
        with self._lock:
            self._length -= 1
