"""Gathers the page of `/metrics`: what the workers of this server counted, what its pools say of themselves, and how
lake and reports stand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from hmac import compare_digest
from typing import Any, Final

from django.conf import settings

from queues.engine import PushCounts
from queues.engine.errors import TaskqError
from queues.engine.queue_values import QueueStats
from queues.engine.stats.heartbeats import OTHER_ENDPOINTS
from queues.engine.values import JobState
from queues.services.incidents.reading import count_open
from queues.services.objectives.reading import BurningQueue, list_burn_rates
from queues.services.pools.load import PoolLoad, QueueRanking, read_pool_load
from queues.services.pools.managing import list_pools
from queues.services.reporting.reading.measures import ReportMeasures, read_measures
from queues.services.reporting.values import DayState

from ..context import ApiContext
from ..http.request import ApiRequest
from . import exposition as t
from .counters import (
    ACKED,
    ACKED_SUM,
    ELAPSED,
    ELAPSED_SUM,
    FAILED,
    JOB_BOUNDS_MS,
    OTHER,
    PUBLISHED,
    QUEUE_WIDTH,
    REQUEST_BOUNDS_S,
)
from .exposition import Page
from .process import COUNTERS, WORKERS, flush
from .worker_files import Key, Snapshot

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
        add_objectives(page, await context.call(partial(list_burn_rates, pool=pool, now=datetime.now(UTC))))
    for labels, number in sorted((await context.call(count_open)).items()):
        page.add(t.INCIDENTS, labels, number)
    add_reports(page, await context.call(read_measures))
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


_SCHEME = "bearer "


def opens_metrics(request: ApiRequest) -> bool:
    """Whether there is such a secret, and the request has it: `Authorization: Bearer SECRET`."""
    secret: str = settings.TASKQ_METRICS_TOKEN
    given = request.headers.get(b"authorization")
    if not secret or given[: len(_SCHEME)].lower() != _SCHEME:
        return False
    return compare_digest(given[len(_SCHEME) :].strip().encode("latin-1"), secret.encode())


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
    _add_pushers(page, pool, load)
    for place, queue in enumerate(load.queues):
        _add_queue_of_pool(page, pool, queue)
        if place % QUEUES_AT_ONCE == 0:
            await asyncio.sleep(0)  # others are served meanwhile
    for state in JobState:
        page.add(t.JOBS, (pool, "", OTHER, state.value), load.rest.get(state, 0))


def add_objectives(page: Page, burning: Sequence[BurningQueue]) -> None:
    """Of the queues that burn their error budgets the fastest."""
    for one in burning[: settings.TASKQ_METRICS_QUEUES]:
        for window, rate in one.rates.rates.items():
            page.add(t.BURN_RATE, (one.pool, one.namespace, one.queue, window), rate)


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
    page.add(t.LAKE_LAG, (pool,), max(part.events_oldest_ms for part in parts) / 1000)


def _add_pumps(page: Page, pool: str, load: PoolLoad) -> None:
    page.add(t.PUMPS, (pool,), sum(pump.age_ms < PUMP_ALIVE_MS for pump in load.pumps))
    for pump in load.pumps:
        for name, role in sorted(pump.roles.items()):
            labels = (pool, pump.pump, name)
            page.add(t.TICK_AGE, labels, role.tick_age_ms / 1000)
            page.add(t.LAG, labels, role.late_ms / 1000)
            page.add(t.TICKS, labels, role.ticks)
            page.add(t.MOVED, labels, role.jobs)


def _add_pushers(page: Page, pool: str, load: PoolLoad) -> None:
    page.add(t.PUSHERS, (pool,), sum(pusher.age_ms < PUMP_ALIVE_MS for pusher in load.pushers))
    for pusher in load.pushers:
        busiest = sorted(pusher.queues.items(), key=lambda item: item[1].delivered + item[1].failed, reverse=True)
        named = [item for item in busiest if item[0] != OTHER_ENDPOINTS][: settings.TASKQ_METRICS_QUEUES]
        rest = PushCounts()
        for _, counts in (item for item in busiest if item not in named):
            rest = rest.plus(counts)
        for name, counts in named:
            namespace, _, queue = name.partition("/")
            _add_pushed(page, (pool, pusher.pusher, namespace, queue), counts)
        _add_pushed(page, (pool, pusher.pusher, "", OTHER), rest)


def _add_pushed(page: Page, labels: tuple[str, ...], counts: PushCounts) -> None:
    page.add(t.PUSH_IN_FLIGHT, labels, counts.in_flight)
    page.add(t.PUSH_DELIVERIES, (*labels, "delivered"), counts.delivered)
    page.add(t.PUSH_DELIVERIES, (*labels, "failed"), counts.failed)
    page.add(t.PUSH_DELIVERIES, (*labels, "returned"), counts.returned)
    page.add(t.PUSH_SECONDS, labels, counts.run_ms / 1000)


def _add_queue_of_pool(page: Page, pool: str, queue: QueueStats) -> None:
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


def add_reports(page: Page, measures: ReportMeasures) -> None:
    """What has never been measured has no sample."""
    for metric, number in (
        (t.LAKE_SIZE, measures.lake_bytes),
        (t.REPORT_AGE, measures.age_s),
        (t.REPORT_TOOK, measures.took_s),
    ):
        if number is not None:
            page.add(metric, (), number)
    for state in DayState:
        page.add(t.REPORT_STATE, (state.value,), int(measures.state is state))
    for pool, difference in sorted(measures.differences.items()):
        page.add(t.LAKE_DIFFERENCE, (pool,), difference)


JOB_BOUNDS_S: Final = tuple(bound / 1000 for bound in JOB_BOUNDS_MS)
_NOTHING: Final = [0.0] * QUEUE_WIDTH


async def add_traffic(
    page: Page, counted: Snapshot, *, queues: Mapping[Key, int], namespaces: Mapping[Key, int]
) -> None:
    """`counted`: the sum over all workers. `queues`, `namespaces`: label → number of its slot."""
    counts, gauges = counted["counts"], counted["gauges"]
    _add_requests(page, counts["routes"])
    for key, number in sorted(namespaces.items()):
        page.add(t.LIMITED, key, counts["namespaces"].get(str(number), [0])[0])
    page.add(t.LIMITED, ("", OTHER), counts["other_namespaces"][0])
    for place, (key, number) in enumerate(sorted(queues.items())):
        _add_queue_counts(page, key, counts["queues"].get(str(number), _NOTHING))
        if place % QUEUES_AT_ONCE == 0:
            await asyncio.sleep(0)  # others are served meanwhile
    _add_queue_counts(page, ("", "", OTHER), counts["other_queues"])
    page.add(t.BATCHES, (), counts["engines"]["batches"])
    page.add(t.OPERATIONS, (), counts["engines"]["operations"])
    page.add(t.IN_PROGRESS, (), gauges["in_progress"])
    page.add(t.WAITING, (), gauges["waiting"])
    page.add(t.WORKERS, (), gauges["workers"])


def _add_requests(page: Page, routes: Mapping[str, Any]) -> None:
    for label, counted in sorted(routes.items()):
        method, _, route = label.partition(" ")
        for code, number in sorted(counted["codes"].items()):
            page.add(t.REQUESTS, (route, method, code), number)
        if method:
            *buckets, total = counted["latency"]
            page.add_histogram(t.LATENCY, (route, method), bounds=REQUEST_BOUNDS_S, buckets=buckets, total=total)


def _add_queue_counts(page: Page, key: Key, numbers: list[float]) -> None:
    elapsed, acked = numbers[ELAPSED:ELAPSED_SUM], numbers[ACKED:ACKED_SUM]
    page.add(t.PUBLISHED, key, numbers[PUBLISHED])
    page.add(t.CONSUMED, key, sum(elapsed))
    page.add(t.ACKED, key, sum(acked))
    page.add(t.FAILED, key, numbers[FAILED])
    _add_histogram(page, t.ELAPSED, key, elapsed, numbers[ELAPSED_SUM])
    _add_histogram(page, t.ACK_ELAPSED, key, acked, numbers[ACKED_SUM])


def _add_histogram(page: Page, metric: t.Metric, key: Key, buckets: list[float], total_ms: float) -> None:
    """From the first observation on: most queues of a server are published to, or consumed from, but not both."""
    if any(buckets):
        page.add_histogram(metric, key, bounds=JOB_BOUNDS_S, buckets=buckets, total=total_ms / 1000)
