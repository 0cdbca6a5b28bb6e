"""From a pool's name to the engine that runs its queues; caches of metadata, and their invalidation between processes.

Called by services, the pump, the API and the pages; calls the models and the engine. `engines` has those for threads
and those for event loops, `rows` the pools as values. `ttl_cache` and `database` read metadata so that a database that
is slow or away costs little.
"""

from .database import MetadataUnavailableError, PoolNotFoundError
from .engines import (
    WorkTimeoutError,
    async_engine_for,
    close_async_engines,
    close_engines,
    end_work_at,
    engine_for,
    open_async_engines,
    peek_async_engine,
    reading_engine_for,
)
from .rows import PoolRow, check_pool_name, find_pool, peek_pool

__all__ = [
    "MetadataUnavailableError",
    "PoolNotFoundError",
    "PoolRow",
    "WorkTimeoutError",
    "async_engine_for",
    "check_pool_name",
    "close_async_engines",
    "close_engines",
    "end_work_at",
    "engine_for",
    "find_pool",
    "open_async_engines",
    "peek_async_engine",
    "peek_pool",
    "reading_engine_for",
]
