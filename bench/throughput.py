"""Requests per second under wrk: publish, bulk publish, consume, and whole cycles. Each run has its own service."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from .load import LoadResult, run_wrk
from .report import Bar, Figure, Section
from .servers import Client, Service, running_service
from .settings import Settings
from .tools import VoidRunError, need
from .yardsticks import Yardsticks, yard

BULK = 64
COUNT = 100
TTR_S = 3_600
FILL_MARGIN = 2.5
"""How much more is filled in than a warm-up's rate would take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One scenario. `path`: from a queue's name to path and query; `jobs`: those that one request moves.

    `taken`: it consumes from a queue that was filled before; `cycles`: the script counts what it does; `shortened`:
    by what a run is shorter than others, for filling takes longer than emptying.
    """

    title: str
    script: str
    connections: int
    path: Callable[[str], str]
    unit: str
    bar: Bar | None = None
    p50: Bar | None = None
    p99: Bar | None = None
    jobs: int = 1
    taken: bool = False
    cycles: bool = False
    shortened: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run gave. `per_s` in the unit of the scenario."""

    load: LoadResult
    per_s: float
    yardsticks: Yardsticks


def _put(queue: str) -> str:
    return f"{queue}?tries=3"


PUBLISH_1 = Shape(
    title="publish, 1 connection",
    script="publish",
    connections=1,
    path=_put,
    unit="req/s",
    p50=Bar(sense="≤", value=0.5),
)
PUBLISH_32 = Shape(
    title="publish, 32 connections",
    script="publish",
    connections=32,
    path=_put,
    unit="req/s",
    bar=Bar(sense="≥", value=0.18, of_s=True),
    p99=Bar(sense="≤", value=8),
)
PUBLISH_128 = Shape(
    title="publish, 128 connections",
    script="publish",
    connections=128,
    path=_put,
    unit="req/s",
    bar=Bar(sense="≥", value=0.22, of_s=True),
)
CYCLES = Shape(
    title="publish → consume → ack, 32 connections",
    script="cycle",
    connections=32,
    path=lambda queue: queue,
    unit="cycles/s",
    bar=Bar(sense="≥", value=0.05, of_s=True),
    cycles=True,
)
CONSUME_32 = Shape(
    title="consume, 32 connections, prefilled queue",
    script="consume",
    connections=32,
    path=lambda queue: f"{queue}?ttr={TTR_S}",
    unit="req/s",
    bar=Bar(sense="≥", value=0.13, of_s=True),
    taken=True,
)
CONSUME_100 = Shape(
    title="consume count=100, 8 connections, prefilled queue",
    script="consume",
    connections=8,
    path=lambda queue: f"{queue}?ttr={TTR_S}&count={COUNT}",
    unit="jobs/s",
    bar=Bar(sense="≥", value=0.75, of_s=True),
    jobs=COUNT,
    taken=True,
    shortened=2,
)
BULK_64 = Shape(
    title="bulk publish of 64, 8 connections",
    script="bulk",
    connections=8,
    path=lambda queue: f"{queue}/bulk?tries=3",
    unit="jobs/s",
    bar=Bar(sense="≥", value=1.0, of_s=True),
    jobs=BULK,
)


def measure(shape: Shape, settings: Settings) -> Section:
    """All runs of one scenario. Raises MissingToolError, VoidRunError."""
    need("wrk", "redis-benchmark")
    return Section(
        title=shape.title, figures=_figures(shape, settings, [_run(shape, settings) for _ in range(settings.runs)])
    )


def _run(shape: Shape, settings: Settings) -> Run:
    with running_service() as service, yard(service, settings) as yardsticks:
        client = service.client()
        seconds = math.ceil(settings.load_s / shape.shortened)
        if shape.taken:
            client.fill("warm-up", _guess(shape, settings))
        warm = _load(shape, service, "warm-up", settings.warm_s)
        if shape.taken:
            client.fill("measured", round(warm.requests_per_s * shape.jobs * seconds * FILL_MARGIN))
        taken = yardsticks.measure(connections=shape.connections)
        load = _load(shape, service, "measured", seconds)
        _check(shape, load, client)
        done = load.cycles if shape.cycles else load.requests * shape.jobs
        return Run(load=load, per_s=done / load.seconds, yardsticks=taken)


def _guess(shape: Shape, settings: Settings) -> int:
    """More jobs than a warm-up can take: a server would have to reach 40,000 jobs/s, by hundreds 150,000."""
    return round((150_000 if shape.jobs > 1 else 40_000) * settings.warm_s)


def _load(shape: Shape, service: Service, queue: str, seconds: int) -> LoadResult:
    return run_wrk(
        service.url(shape.path(queue)),
        script=shape.script,
        connections=shape.connections,
        threads=shape.connections if shape.cycles else min(2, shape.connections),
        seconds=seconds,
        env={"BENCH_TOKEN": service.token, "BENCH_BULK": str(shape.jobs)},
    )


def _check(shape: Shape, load: LoadResult, client: Client) -> None:
    """Compare wrk's count with the service's. What was in flight when wrk left may count for the service alone."""
    counts = client.counts("measured")
    slack = shape.connections * shape.jobs
    if shape.cycles:
        least, found = 0, counts["ready"] + counts["working"]
    else:
        least, found = load.requests * shape.jobs, counts["working" if shape.taken else "ready"]
    if not least <= found <= least + slack:
        raise VoidRunError(f"wrk counts {least:,} jobs and the service {found:,} ({slack:,} may be in flight)")


def _figures(shape: Shape, settings: Settings, runs: Sequence[Run]) -> list[Figure]:
    s_unix = [run.yardsticks.s_unix for run in runs]
    s_tcp = [run.yardsticks.s_tcp for run in runs]
    beside = partial(Figure, s_unix=s_unix, s_tcp=s_tcp, by=settings.yardstick)
    figures = [beside(name="throughput", unit=shape.unit, runs=[run.per_s for run in runs], bar=shape.bar)]
    if not shape.cycles:
        figures += [
            Figure(name="latency p50", unit="ms", runs=[run.load.p50_ms for run in runs], bar=shape.p50),
            Figure(name="latency p99", unit="ms", runs=[run.load.p99_ms for run in runs], bar=shape.p99),
        ]
    hello = [run.yardsticks.hello for run in runs]
    return [
        *figures,
        beside(name="yardstick: hello, same connections", unit="req/s", runs=hello),
        Figure(name="yardstick: S, SET over the service's unix socket", unit="req/s", runs=s_unix),
        Figure(name="yardstick: S tcp, SET over the loopback", unit="req/s", runs=s_tcp),
    ]
