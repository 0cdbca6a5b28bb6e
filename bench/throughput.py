"""Requests per second under wrk: publish, bulk publish, consume, and whole cycles. Each run has its own service."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from .load import LoadResult, run_wrk
from .report import Figure, Section
from .servers import Client, Service, running_service
from .settings import Settings
from .shapes import Shape
from .tools import VoidRunError, need
from .yardsticks import Yardsticks, yard

FILL_MARGIN = 2.5
"""How much more is filled in than a warm-up's rate would take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run gave. `per_s` in the unit of the scenario."""

    load: LoadResult
    per_s: float
    yardsticks: Yardsticks


def measure(shape: Shape, settings: Settings) -> Section:
    """All runs of one scenario. Raises MissingToolError, VoidRunError."""
    need("wrk", "redis-benchmark")
    return Section(
        title=shape.title, figures=_figures(shape, settings, [_run(shape, settings) for _ in range(settings.runs)])
    )


def _run(shape: Shape, settings: Settings) -> Run:
    workers = settings.workers or shape.workers
    with running_service(workers=workers) as service, yard(service, settings, workers=workers) as yardsticks:
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
        if not 0 <= load.requests - 3 * load.cycles <= 3 * shape.connections:
            raise VoidRunError(f"{load.requests:,} requests are not three for each of {load.cycles:,} cycles")
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
