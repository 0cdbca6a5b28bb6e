"""Shares the event loop between large requests and all others: large work is done in slices, one in a turn of the loop.

A small request takes several turns: it is read, sent to Redis, its reply is read, the answer is written. Each of these
turns is as long as what is done for large requests in it, so that must not depend on how many of them there are.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Generator
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class LargeWork:
    """The large requests of one event loop that wait for their next slice. First come, first served."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_scheduled = False

    async def turn(self) -> None:
        """Wait for a turn of the event loop in which no other large request does a slice of its work."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        if not self._is_scheduled:
            self._schedule()
        await future

    def _schedule(self) -> None:
        self._is_scheduled = True
        asyncio.get_running_loop().call_soon(self._admit_next)

    def _admit_next(self) -> None:
        self._is_scheduled = False
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():  # else its request was cancelled
                future.set_result(None)
                self._schedule()  # also when nobody waits: one that comes now must not share this slice's turn
                return


_of_loop: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, LargeWork]] = WeakKeyDictionary()


def large_work() -> LargeWork:
    """That of the running loop."""
    loop = asyncio.get_running_loop()
    work = _of_loop.get(loop)
    if work is None:
        work = _of_loop[loop] = LargeWork()
    return work


async def run_in_slices(work: Generator[None, None, T], *, is_large: bool = False) -> T:
    """The return value of a generator that yields after each slice of work.

    The first slice is done at once, unless `is_large`: small requests need no other.
    """
    turns: LargeWork | None = None
    if is_large:
        turns = large_work()
        await turns.turn()
    while True:
        try:
            next(work)
        except StopIteration as end:
            value: T = end.value
            return value
        turns = turns or large_work()
        await turns.turn()
