"""Worst PING while a queue of three million jobs is deleted and its memory is freed."""

from __future__ import annotations

import time
from collections.abc import Sequence

from queues.engine import Engine, PublishOptions, destroy, free_deleted, publish

from ..report import Bar, Figure
from ..settings import Settings
from ..stores import fresh_engine, used_memory
from ..tools import VoidRunError
from .ping import ping_probe

JOBS = 3_000_000
BATCH = 1_000
BODY = b"x" * 64
LEFT_BYTES = 64 * 1024 * 1024
"""What may be left in use: the event streams, up to their cap, and scripts."""


def figures(settings: Settings) -> Sequence[Figure]:
    """On the embedded server as `up` starts it, whose allocator is the C library's."""
    jobs = settings.scaled(JOBS)
    worst, seconds = [], []
    for _ in range(settings.runs):
        with fresh_engine() as engine:
            worst_ms, took_s = _delete(engine, jobs)
        worst.append(worst_ms)
        seconds.append(took_s)
    name = f"{jobs:,} jobs deleted and freed"
    return [
        Figure(name=f"worst PING, {name}", unit="ms", runs=worst, bar=Bar(sense="≤", value=40)),
        Figure(name=f"until the memory is free, {name}", unit="s", runs=seconds),
    ]


def _delete(engine: Engine, jobs: int) -> tuple[float, float]:
    """Worst PING in ms, and how long freeing took in seconds. Raises VoidRunError if memory is not given back."""
    queue = engine.queue("bench", "orders")
    before = used_memory(engine)
    options = PublishOptions(tries=3)
    for _ in range(jobs // BATCH):
        engine.run(publish(queue, [BODY] * BATCH, options))
    assert engine.address is not None
    with ping_probe(engine.address.url) as probe:
        began = time.perf_counter()
        engine.run(destroy(queue, everything=True))
        while engine.run(free_deleted(engine.layout)).more:
            pass
        took_s = time.perf_counter() - began
    left = used_memory(engine) - before
    if left > LEFT_BYTES:
        raise VoidRunError(f"{left:,} bytes are still in use after the deletion")
    return probe.worst_ms, took_s
