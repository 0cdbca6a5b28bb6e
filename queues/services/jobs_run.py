"""From a pool's name to what runs operations on it."""

from __future__ import annotations

import asyncio
from typing import Final
from weakref import WeakSet

from queues.engine import AsyncEngine
from queues.pools import async_engine_for

_handed_out: Final[WeakSet[AsyncEngine]] = WeakSet()


async def engine_of(*, pool: str) -> AsyncEngine:
    """This loop's engine of a pool. Raises PoolNotFoundError, MetadataUnavailableError, StoreUnavailableError."""
    engine = await async_engine_for(pool)
    _handed_out.add(engine)
    return engine


def engines_handed_out() -> tuple[AsyncEngine, ...]:
    """Those that are in use in this process."""
    return tuple(_handed_out)


async def stop_all_waiting() -> None:
    """Let every consumer that waits here return empty-handed, now and from now on."""
    await asyncio.gather(*(engine.stop_waiting() for engine in tuple(_handed_out)))
