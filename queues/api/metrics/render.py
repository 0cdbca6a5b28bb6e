"""Gathers the page of `/metrics`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from typing import Final

from django.conf import settings

from queues.engine.errors import TaskqError
from queues.services.pools.engines import PoolLoad, read_pool_load
from queues.services.pools.managing import list_pools
from queues.services.queues.ranking import QueueRanking

from ..context import ApiContext
from . import table as t
from .exposition import Page
from .pools import add_pool
from .process import COUNTERS, WORKERS, flush
from .traffic import add_traffic

POOL_TIMEOUT_S: Final = 3.0
"""A pool that has not answered by then counts as down. Pools are asked side by side: none delays another."""

_rankings: Final[dict[str, QueueRanking]] = {}


async def render_metrics(context: ApiContext, *, visible: Collection[tuple[str, str]] | None) -> str:
    """What this server counted, and what its pools say of themselves. Raises MetadataUnavailableError.

    `visible`: pool and name of each namespace that the reader may see; None: all of them.
    """
    begun = time.perf_counter()
    pools = [pool.name for pool in await context.call(list_pools)]
    for gone in _rankings.keys() - set(pools):
        del _rankings[gone]
    loads = await asyncio.gather(*[_read_pool(context, pool) for pool in pools])
    page = Page(visible=visible)
    for pool, load in zip(pools, loads, strict=True):
        await add_pool(page, pool, load)
    await add_traffic(
        page,
        # First what others will read: so no page, by whichever worker, falls behind an earlier one.
        WORKERS.add_others(flush()),
        queues=COUNTERS.queues.labels(),
        namespaces=COUNTERS.namespaces.labels(),
    )
    page.add(t.SCRAPE, (), time.perf_counter() - begun)
    return page.text()


async def _read_pool(context: ApiContext, pool: str) -> PoolLoad | None:
    ranking = _rankings.get(pool)
    if ranking is None:
        ranking = _rankings[pool] = QueueRanking(
            most=settings.TASKQ_METRICS_QUEUES, step_every_s=settings.TASKQ_METRICS_WALK_S
        )
    try:
        async with asyncio.timeout(POOL_TIMEOUT_S):
            return await read_pool_load(engine=await context.engine(pool), ranking=ranking)
    except (TaskqError, TimeoutError):
        return None
