"""Keeps large requests from taking the memory and the event loop from all others.

Memory: only what is large counts: bodies from LARGE_BYTES on while they are read and worked on, and answers from
LARGE_BYTES on until their client has read them. Small requests are always served. A namespace may take half of the
whole, so that one whose clients read slowly or send without end leaves room for others.

Time: large work is done in slices, one in a turn of the event loop. A small request takes several turns: it is read,
sent to Redis, its reply is read, the answer is written. Each of these turns is as long as what is done for large
requests in it, so that must not depend on how many of them there are.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Generator
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

from django.conf import settings

from .errors import ServerBusyError

LARGE_BYTES: Final = 65_536

COPIES: Final = 3
"""A body is in memory so often at its worst: as it came, cut into jobs, and on its way to Redis."""


class MemoryBudget:
    """Counts bytes by namespace. For one event loop."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._shares: defaultdict[str, int] = defaultdict(int)

    def check(self, namespace: str) -> None:
        """Raise ServerBusyError if nothing more should be begun for the namespace."""
        if self.used > self.limit or self.share(namespace) > self.limit // 2:
            raise ServerBusyError("server busy")

    def hold(self, namespace: str) -> MemoryHold:
        """A count of its own, empty at first."""
        return MemoryHold(self, namespace)

    def share(self, namespace: str) -> int:
        """What a namespace takes."""
        return self._shares.get(namespace, 0)

    def add(self, namespace: str, size: int) -> None:
        """Count `size` bytes, or give back -`size`."""
        self.used += size
        share = self._shares[namespace] = self._shares[namespace] + size
        if not share:
            del self._shares[namespace]


class MemoryHold:
    """What one request has taken of a budget."""

    __slots__ = ("_budget", "_namespace", "size")

    def __init__(self, budget: MemoryBudget, namespace: str) -> None:
        self._budget = budget
        self._namespace = namespace
        self.size = 0

    def grow(self, size: int) -> None:
        """Take `size` bytes more. Raises ServerBusyError, and takes nothing.

        A request that has the namespace, or the process, to itself gets what it needs, so that each can be served.
        """
        budget = self._budget
        others, others_here = budget.used - self.size, budget.share(self._namespace) - self.size
        mine = self.size + size
        if (others and others + mine > budget.limit) or (others_here and others_here + mine > budget.limit // 2):
            raise ServerBusyError("server busy")
        budget.add(self._namespace, size)
        self.size = mine

    def release(self) -> None:
        """Give back all of it."""
        size, self.size = self.size, 0
        if size:
            self._budget.add(self._namespace, -size)


MEMORY: Final = MemoryBudget(settings.TASKQ_WORKER_MEMORY_MB * 1024 * 1024)
"""The process's."""


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
                self._schedule()  # also when none waits: one that comes now must not share this slice's turn
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
