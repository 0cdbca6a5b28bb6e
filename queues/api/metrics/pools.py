"""What a pool says of itself, as samples."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from queues.engine.values import JobState, QueueStats
from queues.services.pools.engines import PoolLoad

from . import table as t
from .exposition import Page
from .series import OTHER

PUMP_ALIVE_MS: Final = 10_000
QUEUES_AT_ONCE: Final = 20
_QUANTILES: Final = {"p50": "0.5", "p95": "0.95", "p99": "0.99"}


async def add_pool(page: Page, pool: str, load: PoolLoad | None) -> None:
    """`load` None: it does not answer."""
    page.add(t.UP, (pool,), 0 if load is None else 1)
    if load is None:
        return
    page.add(t.MEMORY, (pool,), load.store.used_memory)
    page.add(t.MEMORY_MAX, (pool,), load.store.max_memory)
    page.add(t.KEYS, (pool,), load.store.keys)
    page.add(t.CLIENTS, (pool,), load.store.connected_clients)
    page.add(t.BLOCKED, (pool,), load.store.blocked_clients)
    _add_partitions(page, pool, load)
    _add_pumps(page, pool, load)
    for place, queue in enumerate(load.queues):
        _add_queue(page, pool, queue)
        if place % QUEUES_AT_ONCE == 0:
            await asyncio.sleep(0)  # others are served meanwhile
    for state in JobState:
        page.add(t.JOBS, (pool, "", OTHER, state.value), load.rest.get(state, 0))


def _add_partitions(page: Page, pool: str, load: PoolLoad) -> None:
    parts = load.partitions
    queues = sum(part.queues for part in parts)
    page.add(t.QUEUES, (pool,), queues)
    shown = sum(page.shows(pool, queue.namespace) for queue in load.queues)
    page.add(t.OMITTED, (pool,), max(0, queues - shown))
    page.add(t.OVERDUE, (pool, "due"), max(part.due_behind_ms for part in parts) / 1000)
    page.add(t.OVERDUE, (pool, "ends"), max(part.ends_behind_ms for part in parts) / 1000)
    page.add(t.EVENTS, (pool,), sum(part.events_bytes for part in parts))
    page.add(t.DROPPED, (pool,), sum(part.events_dropped for part in parts))


def _add_pumps(page: Page, pool: str, load: PoolLoad) -> None:
    page.add(t.PUMPS, (pool,), sum(pump.age_ms < PUMP_ALIVE_MS for pump in load.pumps))
    for pump in load.pumps:
        for name, role in sorted(pump.roles.items()):
            labels = (pool, pump.pump, name)
            page.add(t.TICK_AGE, labels, role.tick_age_ms / 1000)
            page.add(t.LAG, labels, role.late_ms / 1000)
            page.add(t.TICKS, labels, role.ticks)
            page.add(t.MOVED, labels, role.jobs)


def _add_queue(page: Page, pool: str, queue: QueueStats) -> None:
    labels = (pool, queue.namespace, queue.queue)
    for state in JobState:
        page.add(t.JOBS, (*labels, state.value), queue.counts.get(state, 0))
    page.add(t.PAUSED, labels, int(queue.paused))
    page.add(t.OLDEST, labels, (queue.oldest_ready_ms or 0) / 1000)
    _add_quantiles(page, t.WAIT, labels, queue.wait_ms)
    _add_quantiles(page, t.RUN, labels, queue.run_ms)
    _add_quantiles(page, t.LATE, labels, queue.late_ms)


def _add_quantiles(
    page: Page, metric: t.Metric, labels: tuple[str, ...], quantiles: Mapping[str, float | None]
) -> None:
    """None for a queue in which nothing of the kind happened lately."""
    for name, quantile in _QUANTILES.items():
        value = quantiles.get(name)
        if value is not None:
            page.add(metric, (*labels, quantile), value / 1000)
