"""Worst PING while a queue of three million jobs is deleted and its memory is freed.

The server is one as `up` starts it. Its allocator is the C library's, with which freeing so much at once takes seconds
in which Redis does nothing else. Scheduling is part of a PING's time and not of Redis's, so more figures say the
worst PING of an idle server in as long a time, and the processor time that Redis itself spends on a round of steps.

In a virtual machine, time in which the host runs something else (steal) lengthens a PING, and counts as processor time
of the process that it interrupts. The figures with a bar are of PINGs and rounds beside which nothing was stolen;
others say the worst PING of all, how much was left out, and how much was stolen.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from queues.engine import Engine, PublishOptions, destroy, free_deleted, publish

from ..report import Bar, Figure
from ..settings import Settings
from ..stores import fresh_engine, used_memory
from ..tools import VoidRunError
from .ping import PingProbe, ping_probe, stolen_s

JOBS = 3_000_000
JOBS_QUICK = 300_000
BATCH = 1_000
BODY = b"x" * 64
IDLE_S = 30.0
LEFT_BYTES = 64 * 1024 * 1024
"""What may be left in use: the event streams, up to their cap, and scripts."""


def figures(settings: Settings) -> Sequence[Figure]:
    """Worst PINGs, the costliest step, and how long it takes until the memory is free."""
    jobs = JOBS_QUICK if settings.quick else JOBS
    runs = [_run(jobs) for _ in range(settings.runs)]
    name = f"{jobs:,} jobs deleted and freed"
    return [
        Figure(
            name=f"worst PING without stolen time, {name}",
            unit="ms",
            runs=[run.beside.worst_undisturbed_ms for run in runs],
            bar=Bar(sense="≤", value=40),
        ),
        Figure(
            name=f"the same in {IDLE_S:g} s of an idle server",
            unit="ms",
            runs=[run.idle.worst_undisturbed_ms for run in runs],
        ),
        Figure(name="worst PING of all", unit="ms", runs=[run.beside.worst_ms for run in runs]),
        Figure(name="the same, idle", unit="ms", runs=[run.idle.worst_ms for run in runs]),
        Figure(
            name="PINGs left out beside stolen time",
            unit="%",
            runs=[100 * (1 - run.beside.undisturbed / run.beside.pings) for run in runs],
        ),
        Figure(
            name="processor time of the costliest round of steps",
            unit="ms",
            runs=[run.costliest_round_ms for run in runs],
            bar=Bar(sense="≤", value=10),
        ),
        Figure(name="rounds left out beside stolen time", unit="%", runs=[run.left_out_percent for run in runs]),
        Figure(
            name="processor time that the host stole meanwhile", unit="%", runs=[run.stolen_percent for run in runs]
        ),
        Figure(name=f"until the memory is free, {name}", unit="s", runs=[run.took_s for run in runs]),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    idle: PingProbe
    beside: PingProbe
    costliest_round_ms: float
    left_out_percent: float
    stolen_percent: float
    """Of the time of all processors."""
    took_s: float


@dataclass(frozen=True, slots=True)
class _Round:
    cost_ms: float
    """Processor time of Redis's main thread."""
    stolen_s: float
    """Time that the host took away meanwhile from any processor of this machine."""


def _run(jobs: int) -> _Run:
    """Fill a queue, delete it and free it. Raises VoidRunError if memory is not given back."""
    with fresh_engine() as engine:
        assert engine.address is not None
        with ping_probe(engine.address.url) as idle:
            time.sleep(IDLE_S)
        queue = engine.queue("bench", "orders")
        before = used_memory(engine)
        for _ in range(jobs // BATCH):
            engine.run(publish(queue, [BODY] * BATCH, PublishOptions(tries=3)))
        with ping_probe(engine.address.url) as beside:
            began = time.perf_counter()
            rounds = _delete(engine)
            took_s = time.perf_counter() - began
        left = used_memory(engine) - before
    if left > LEFT_BYTES:
        raise VoidRunError(f"{left:,} bytes are still in use after the deletion")
    costs = _undisturbed_costs(rounds)
    if not costs:
        raise VoidRunError("the host stole time beside every round")
    return _Run(
        idle=idle,
        beside=beside,
        costliest_round_ms=max(costs),
        left_out_percent=100 * (1 - len(costs) / len(rounds)),
        stolen_percent=100 * sum(one.stolen_s for one in rounds) / took_s / (os.cpu_count() or 1),
        took_s=took_s,
    )


def _delete(engine: Engine) -> list[_Round]:
    """Delete the queue and free it, round by round."""
    pid = engine.client.info("server")["process_id"]
    schedstat = Path(f"/proc/{pid}/task/{pid}/schedstat")

    def spent_ms() -> float:
        return int(schedstat.read_text().split()[0]) / 1e6

    rounds = []
    spent, stolen = spent_ms(), stolen_s()
    engine.run(destroy(engine.queue("bench", "orders"), everything=True))
    more = True
    while more:
        spent_then, stolen_then = spent, stolen
        spent, stolen = spent_ms(), stolen_s()
        rounds.append(_Round(spent - spent_then, stolen - stolen_then))
        more = engine.run(free_deleted(engine.layout)).more
    return rounds


def _undisturbed_costs(rounds: Sequence[_Round]) -> list[float]:
    """Costs of the rounds during which nothing was stolen, nor just before or after: it is counted in whole ticks."""
    stolen = [0.0, *(one.stolen_s for one in rounds), 0.0]
    return [one.cost_ms for i, one in enumerate(rounds) if not any(stolen[i : i + 3])]
