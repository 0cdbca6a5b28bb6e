"""Worst latency of a PING while something else keeps a Redis server busy.

In a virtual machine, the host may run something else on a processor (steal), and a PING that it interrupts says nothing
about Redis. The kernel counts it in whole ticks, some of them after the fact, so a PING is undisturbed if nothing was
counted from the PING before it until after the PING that followed.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path

import redis

PAUSE_S = 0.001
CPU_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class PingProbe:
    """Pings from a process of its own, so that the load's Python does not count. Its figures are set when it ends."""

    worst_ms: float = 0.0
    worst_undisturbed_ms: float = 0.0
    undisturbed: int = 0
    pings: int = 0


def stolen_s() -> float:
    """Seconds since the machine's start in which its host ran something else on its processors."""
    return int(Path("/proc/stat").read_text().split(maxsplit=9)[8]) / CPU_TICKS_PER_S


@contextmanager
def ping_probe(redis_url: str) -> Iterator[PingProbe]:
    """Ping `redis_url` every millisecond during the block; the probe's figures are set after it."""
    context = multiprocessing.get_context("spawn")
    stop, started = context.Event(), context.Event()
    queue: multiprocessing.Queue[tuple[float, float, int, int]] = context.Queue()
    process = context.Process(target=_ping, args=(redis_url, started, stop, queue), daemon=True)
    process.start()
    if not started.wait(30):
        raise OSError("the ping probe did not start")
    probe = PingProbe()
    try:
        yield probe
    finally:
        stop.set()
        probe.worst_ms, probe.worst_undisturbed_ms, probe.undisturbed, probe.pings = queue.get(timeout=60)
        process.join(10)


def _ping(
    redis_url: str, started: Event, stop: Event, queue: multiprocessing.Queue[tuple[float, float, int, int]]
) -> None:
    worst, worst_undisturbed, undisturbed, pings = 0.0, 0.0, 0, 0
    last_s, stolen = 0.0, [stolen_s()] * 3
    with redis.Redis.from_url(redis_url) as client:
        client.ping()
        started.set()
        while not stop.is_set():
            began = time.perf_counter()
            client.ping()
            took_s = time.perf_counter() - began
            pings += 1
            worst = max(worst, took_s)
            stolen = [*stolen[1:], stolen_s()]
            if pings > 1 and stolen[0] == stolen[2]:  # of the PING before this one
                undisturbed += 1
                worst_undisturbed = max(worst_undisturbed, last_s)
            last_s = took_s
            time.sleep(PAUSE_S)
    queue.put((worst * 1_000, worst_undisturbed * 1_000, undisturbed, pings))
