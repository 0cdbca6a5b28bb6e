"""Pool name → engine for asyncio: one per pool and event loop, opened on first use and anew when its row changes."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from weakref import WeakKeyDictionary

from asgiref.sync import sync_to_async

from queues.engine import AsyncEngine, open_async_engine
from queues.engine.errors import TaskqError

from .refusals import Refusals
from .rows import PoolRow, find_pool, peek_pool


class _Engines:
    """The engines of one event loop."""

    def __init__(self) -> None:
        self.open: dict[str, tuple[PoolRow, AsyncEngine]] = {}
        self.opening: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.refusals = Refusals()
        self.closing: set[asyncio.Task[None]] = set()

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
            new = (row, await open_async_engine(row.url, partitions=row.partitions))
        except TaskqError as error:
            self.refusals.note(row, error)
            raise
        old = self.open.get(row.name)
        self.open[row.name] = new
        if old is not None:
            task = asyncio.create_task(old[1].close())
            self.closing.add(task)
            task.add_done_callback(self.closing.discard)
        return new

    async def close(self) -> None:
        while self.open:
            _, (_, engine) = self.open.popitem()
            await engine.close()
        await asyncio.gather(*self.closing)


_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, _Engines] = WeakKeyDictionary()


async def async_engine_for(pool: str) -> AsyncEngine:
    """The engine of a pool for the running loop. Raises as `engine_for` does."""
    row = peek_pool(pool) or await sync_to_async(find_pool)(pool)
    loop = asyncio.get_running_loop()
    engines = _by_loop.get(loop)
    if engines is None:
        engines = _by_loop[loop] = _Engines()
    return await engines.get(row)


async def close_async_engines() -> None:
    """Let everybody who waits go empty-handed, then close the running loop's engines."""
    engines = _by_loop.pop(asyncio.get_running_loop(), None)
    if engines is not None:
        await engines.close()
