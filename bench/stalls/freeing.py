"""Worst PING while a queue of three million jobs is deleted and its memory is freed.

The server is one as `up` starts it. Its allocator is the C library's, with which freeing so much at once takes seconds
in which Redis does nothing else. Scheduling is part of a PING's time and not of Redis's, so two more figures say the
worst PING of an idle server, and the processor time that Redis itself spends on a round of steps.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from queues.engine import Engine, PublishOptions, destroy, free_deleted, publish

from ..report import Bar, Figure
from ..settings import Settings
from ..stores import fresh_engine, used_memory
from ..tools import VoidRunError
from .ping import ping_probe

JOBS = 3_000_000
JOBS_QUICK = 300_000
BATCH = 1_000
BODY = b"x" * 64
IDLE_S = 5.0
LEFT_BYTES = 64 * 1024 * 1024
"""What may be left in use: the event streams, up to their cap, and scripts."""


def figures(settings: Settings) -> Sequence[Figure]:
    """Worst PINGs, the costliest step, and how long it takes until the memory is free."""
    jobs = JOBS_QUICK if settings.quick else JOBS
    runs = [_run(jobs) for _ in range(settings.runs)]
    idle, worst, step, took = zip(*runs, strict=True)
    name = f"{jobs:,} jobs deleted and freed"
    return [
        Figure(name=f"worst PING, {name}", unit="ms", runs=worst, bar=Bar(sense="≤", value=40)),
        Figure(name=f"worst PING in {IDLE_S:g} s of an idle server", unit="ms", runs=idle),
        Figure(
            name="processor time of the costliest round of steps", unit="ms", runs=step, bar=Bar(sense="≤", value=10)
        ),
        Figure(name=f"until the memory is free, {name}", unit="s", runs=took),
    ]


def _run(jobs: int) -> tuple[float, float, float, float]:
    """Worst PING idle and with the work, ms; costliest round, ms; how long freeing took, s.

    Raises VoidRunError if memory is not given back.
    """
    with fresh_engine() as engine:
        assert engine.address is not None
        with ping_probe(engine.address.url) as idle:
            time.sleep(IDLE_S)
        queue = engine.queue("bench", "orders")
        before = used_memory(engine)
        for _ in range(jobs // BATCH):
            engine.run(publish(queue, [BODY] * BATCH, PublishOptions(tries=3)))
        with ping_probe(engine.address.url) as probe:
            began = time.perf_counter()
            costs = _delete(engine)
            took_s = time.perf_counter() - began
        left = used_memory(engine) - before
        if left > LEFT_BYTES:
            raise VoidRunError(f"{left:,} bytes are still in use after the deletion")
        return idle.worst_ms, probe.worst_ms, max(costs), took_s


def _delete(engine: Engine) -> list[float]:
    """Processor time of Redis's main thread for the deletion and for each round of freeing, ms."""
    pid = engine.client.info("server")["process_id"]
    schedstat = Path(f"/proc/{pid}/task/{pid}/schedstat")

    def spent_ms() -> float:
        return int(schedstat.read_text().split()[0]) / 1e6

    costs = []
    before = spent_ms()
    engine.run(destroy(engine.queue("bench", "orders"), everything=True))
    more = True
    while more:
        costs.append(spent_ms() - before)
        before = spent_ms()
        more = engine.run(free_deleted(engine.layout)).more
    return costs
