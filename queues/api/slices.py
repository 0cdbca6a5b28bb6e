"""Runs long work on the event loop in slices, so that other requests are served meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

_locks: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]] = WeakKeyDictionary()


async def run_in_slices(work: Generator[None, None, T]) -> T:
    """The return value of a generator that yields after each slice of work.

    What needs one slice only is done at once. Of all that need more, one slice is done in a turn of the event loop.
    """
    try:
        next(work)
    except StopIteration as end:
        value: T = end.value
        return value
    loop = asyncio.get_running_loop()
    lock = _locks.get(loop)
    if lock is None:
        lock = _locks[loop] = asyncio.Lock()
    async with lock:
        rest: T = await _rest(work)
        return rest


async def _rest(work: Generator[None, None, Any]) -> Any:
    while True:
        await asyncio.sleep(0)
        try:
            next(work)
        except StopIteration as end:
            return end.value
