"""Pauses between the steps of long work, so that other callers get most of a server's time.

Deletions, respawns and reschedulings of many jobs take turns: those of one process together get `SHARE` of the time.
A step counts for as long as its caller waits for the reply, so the busier the server, the longer the pauses. A step
that comes after a quiet moment does not wait.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

T = TypeVar("T")

SHARE: Final = 1 / 3
PAUSE_MAX_S: Final = 0.1
"""Longest pause: a server that did not answer for a while is not kept waiting for as long again."""


def pause_after(step_s: float) -> float:
    """Seconds to leave to others after a step that took so long."""
    return min(PAUSE_MAX_S, step_s * (1 / SHARE - 1))


class Pacer:
    """For threads: one step at a time."""

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._free_at = clock()

    def run(self, step: Callable[[], T]) -> T:
        """The result of `step`, once it is its turn."""
        with self._lock:
            if (wait := self._free_at - self._clock()) > 0:
                self._sleep(wait)
            began = self._clock()
            try:
                return step()
            finally:
                ended = self._clock()
                self._free_at = ended + pause_after(ended - began)


class AsyncPacer:
    """For one event loop: one step at a time, first come, first served."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lock = asyncio.Lock()
        self._free_at = self._loop.time()

    async def run(self, step: Callable[[], Awaitable[T]]) -> T:
        """The result of `step`, once it is its turn."""
        async with self._lock:
            if (wait := self._free_at - self._loop.time()) > 0:
                await asyncio.sleep(wait)
            began = self._loop.time()
            try:
                return await step()
            finally:
                ended = self._loop.time()
                self._free_at = ended + pause_after(ended - began)
