"""A burst of jobs into one queue: whether its events reach the drain before the stream's memory is full."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from queues.engine import Engine, constants, open_engine, partition_load, publish

from ..report import Bar, Figure
from ..servers import running_service
from ..settings import Settings

JOBS: Final = 600_000
BURST_S: Final = 3.3
BULK: Final = 1_000


def figures(settings: Settings) -> Sequence[Figure]:
    """Bulk publishes into one queue of a whole service, its pump included."""
    jobs = settings.scaled(JOBS)
    runs = [_burst(jobs) for _ in range(settings.runs)]
    return [
        Figure(
            name=f"{jobs:,} jobs into one queue: events dropped",
            unit="events",
            runs=[dropped for dropped, _, _ in runs],
            bar=Bar(sense="≤", value=0),
        ),
        Figure(
            name="the most that their events took of the partition's share",
            unit="%",
            runs=[share for _, share, _ in runs],
        ),
        Figure(name="how long the burst took", unit="s", runs=[took_s for _, _, took_s in runs]),
    ]


def _burst(jobs: int) -> tuple[float, float, float]:
    """Events dropped, the most of its share that the stream took in percent, and how long it took to publish."""
    with running_service() as service:
        engine = open_engine(service.redis_url)
        try:
            return _publish(engine, jobs)
        finally:
            engine.close()


def _publish(engine: Engine, jobs: int) -> tuple[float, float, float]:
    queue = engine.queue("burst", "orders")
    rate = JOBS / BURST_S
    most = 0
    began = time.perf_counter()
    for number in range(0, jobs, BULK):
        engine.run(publish(queue, [b"x"] * BULK))
        if number % (20 * BULK) == 0:
            most = max(most, engine.run(partition_load(queue.partition)).events_bytes)
        time.sleep(max(0.0, number / rate - (time.perf_counter() - began)))
    took_s = time.perf_counter() - began
    load = engine.run(partition_load(queue.partition))
    share = constants.EVENTS_MEMORY_MB * constants.MEBIBYTE / engine.layout.partitions
    return load.events_dropped, 100 * max(most, load.events_bytes) / share, took_s
