"""The scenarios under wrk, and what is asked of each."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from .report import Bar

BULK = 64
COUNT = 100
TTR_S = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One scenario. `path`: from a queue's name to path and query; `jobs`: those that one request moves.

    `taken`: it consumes from a queue that was filled before; `cycles`: the script counts what it does; `shortened`:
    by what a run is shorter than others, for filling takes longer than emptying; `workers`: web server processes.
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
    workers: int = 1


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
    title="publish, 128 connections, a web process for each core",
    script="publish",
    connections=128,
    path=_put,
    unit="req/s",
    bar=Bar(sense="≥", value=0.22, of_s=True),
    workers=os.cpu_count() or 1,
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
