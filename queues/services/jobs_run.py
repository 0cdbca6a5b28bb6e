"""From a pool's name to what runs operations on it."""

from __future__ import annotations

import asyncio

from queues.engine import AsyncEngine, write_probe
from queues.pools import async_engine_for, open_async_engines, peek_async_engine


def peek_engine(pool: str) -> AsyncEngine | None:
    """This loop's engine of a pool that is in use, at once. None says nothing: ask `engine_of`."""
    return peek_async_engine(pool)


async def engine_of(*, pool: str) -> AsyncEngine:
    """This loop's engine of a pool. Raises PoolNotFoundError, MetadataUnavailableError, StoreUnavailableError."""
    return await async_engine_for(pool)


def engines_handed_out() -> tuple[AsyncEngine, ...]:
    """Those that are in use in this process."""
    return open_async_engines()


async def check_writes(engine: AsyncEngine, *, as_publish: bool = False) -> None:
    """Raise StoreUnavailableError unless jobs can be consumed and acked on all servers of the pool.

    With `as_publish`, raise what a publish would: StoreFullError and NotReplicatedError, too.
    """
    partitions = 1 if engine.counts_in_call else engine.layout.partitions  # one server holds all keys, or several do
    await engine.batch([write_probe(partition, as_publish=as_publish) for partition in range(partitions)])


async def stop_all_waiting() -> None:
    """Let every consumer that waits here return empty-handed, now and from now on."""
    await asyncio.gather(*(engine.stop_waiting() for engine in engines_handed_out()))
