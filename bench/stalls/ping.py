"""Worst latency of a PING while something else keeps a Redis server busy."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event

import redis

PAUSE_S = 0.001


class PingProbe:
    """Pings from a process of its own, so that the load's Python does not count. `worst_ms` is set when it ends."""

    worst_ms: float = 0.0
    pings: int = 0


@contextmanager
def ping_probe(redis_url: str) -> Iterator[PingProbe]:
    """Ping `redis_url` every millisecond during the block; the probe's figures are set after it."""
    context = multiprocessing.get_context("spawn")
    stop, started = context.Event(), context.Event()
    queue: multiprocessing.Queue[tuple[float, int]] = context.Queue()
    process = context.Process(target=_ping, args=(redis_url, started, stop, queue), daemon=True)
    process.start()
    if not started.wait(30):
        raise OSError("the ping probe did not start")
    probe = PingProbe()
    try:
        yield probe
    finally:
        stop.set()
        probe.worst_ms, probe.pings = queue.get(timeout=60)
        process.join(10)


def _ping(redis_url: str, started: Event, stop: Event, queue: multiprocessing.Queue[tuple[float, int]]) -> None:
    worst, pings = 0.0, 0
    with redis.Redis.from_url(redis_url) as client:
        client.ping()
        started.set()
        while not stop.is_set():
            began = time.perf_counter()
            client.ping()
            worst = max(worst, time.perf_counter() - began)
            pings += 1
            time.sleep(PAUSE_S)
    queue.put((worst * 1_000, pings))
