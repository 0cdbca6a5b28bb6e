"""What the workers of this server counted, as samples."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from . import table as t
from .counting import (
    ACKED,
    ACKED_SUM,
    ELAPSED,
    ELAPSED_SUM,
    FAILED,
    JOB_BOUNDS_MS,
    PUBLISHED,
    QUEUE_WIDTH,
    REQUEST_BOUNDS_S,
)
from .exposition import Page
from .series import OTHER
from .slots import Key
from .workers import Snapshot

JOB_BOUNDS_S: Final = tuple(bound / 1000 for bound in JOB_BOUNDS_MS)
QUEUES_AT_ONCE: Final = 20
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
        _add_queue(page, key, counts["queues"].get(str(number), _NOTHING))
        if place % QUEUES_AT_ONCE == 0:
            await asyncio.sleep(0)  # others are served meanwhile
    _add_queue(page, ("", "", OTHER), counts["other_queues"])
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


def _add_queue(page: Page, key: Key, numbers: list[float]) -> None:
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
