"""Publishing while twenty people look at the overview, and while nobody does: what the data plane feels of them.

Shared machines change their speed by more than that from one load to the next, so loads are short and many, by turns.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Final

from .load import LoadResult, run_wrk
from .overview import Browser
from .processes import running
from .report import Bar, Figure, Section
from .servers import Service, running_service
from .settings import Settings
from .shapes import PUBLISH_32
from .tools import VoidRunError, need

PAGES: Final = 20
QUEUES: Final = 50
JOBS_EACH: Final = 200
"""What there is to look at, beside the queue that is published to."""

TURNS: Final = 10
"""Loads of each kind in a run."""
LOAD_S: Final = 3


@dataclass(slots=True)
class Turns:
    """The loads of a run: without and with people who look. `answers`, `bytes`: what their pages fetched meanwhile."""

    alone: list[LoadResult] = field(default_factory=list)
    beside: list[LoadResult] = field(default_factory=list)
    answers: int = 0
    bytes: int = 0

    @property
    def ratio(self) -> float:
        """Of the sums: what all loads beside the pages did, to what all others did."""
        return _rate(self.beside) / _rate(self.alone)

    def per_s(self, number: int) -> float:
        """Of the time in which somebody looked."""
        return number / sum(load.seconds for load in self.beside)


def _rate(loads: Sequence[LoadResult]) -> float:
    return sum(load.requests_per_s for load in loads) / len(loads)


def _p99_ms(loads: Sequence[LoadResult]) -> float:
    return statistics.median(load.p99_ms for load in loads)


class Viewers:
    """The process of bench.viewers."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None, "a pipe"
        assert process.stdout is not None, "a pipe"
        self._ask: IO[str] = process.stdin
        self._answer: IO[str] = process.stdout

    def begin(self, page: str) -> None:
        """Return once every part of every page has been answered. Raises VoidRunError."""
        self._ask.write(f"{page.strip()}\n.\n")
        self._ask.flush()
        if self._answer.readline().strip() != "looking":
            raise VoidRunError("the process of the open pages ended")

    def go_away(self) -> None:
        """Nobody looks. Raises VoidRunError."""
        self._count("away")

    def come_back(self) -> None:
        """All look. Raises VoidRunError."""
        self._count("back")

    def fetched(self) -> tuple[int, int]:
        """Answers and bytes so far. Raises VoidRunError if one was refused."""
        return self._count("?")

    def _count(self, order: str) -> tuple[int, int]:
        self._ask.write(f"{order}\n")
        self._ask.flush()
        answers, size, wrong = (int(number) for number in self._answer.readline().split())
        if wrong:
            raise VoidRunError(f"{wrong} answers to the open pages were neither 200 nor 304")
        return answers, size


@contextmanager
def _viewers(service: Service, browser: Browser) -> Iterator[Viewers]:
    command = [sys.executable, "-m", "bench.viewers", service.host, str(service.port), str(PAGES)]
    with running(command, env={**os.environ, "BENCH_COOKIES": browser.cookies}, pipes=True) as process:
        viewers = Viewers(process)
        viewers.begin(browser.get("/"))
        yield viewers


def measure(settings: Settings) -> Section:
    """Runs of TURNS loads of each kind on one service. Raises MissingToolError, VoidRunError."""
    need("wrk")
    with running_service() as service:
        client = service.client()
        for number in range(QUEUES):
            client.fill(f"looked-at-{number}", JOBS_EACH)
        browser = Browser(service)
        _load(service, settings.warm_s)
        with _viewers(service, browser) as viewers:
            runs = [_run(service, viewers, turns=settings.scaled(TURNS)) for _ in range(settings.runs)]
    return Section(
        title=f"publish, 32 connections, beside {PAGES} open overviews",
        figures=[
            Figure(name="alone", unit="req/s", runs=[_rate(run.alone) for run in runs]),
            Figure(name="beside the open pages", unit="req/s", runs=[_rate(run.beside) for run in runs]),
            Figure(name="ratio", unit="", runs=[run.ratio for run in runs], bar=Bar(sense="≥", value=0.95)),
            Figure(name="latency p99 alone", unit="ms", runs=[_p99_ms(run.alone) for run in runs]),
            Figure(name="latency p99 beside them", unit="ms", runs=[_p99_ms(run.beside) for run in runs]),
            Figure(name="what the pages fetch", unit="answers/s", runs=[run.per_s(run.answers) for run in runs]),
            Figure(name="what the pages fetch", unit="KiB/s", runs=[run.per_s(run.bytes) / 1_024 for run in runs]),
        ],
    )


def _run(service: Service, viewers: Viewers, *, turns: int) -> Turns:
    done = Turns()
    for number in range(2 * turns):
        if number % 4 in (1, 2):  # alone, beside, beside, alone: what grows or shrinks steadily does so for both
            viewers.come_back()
            before = viewers.fetched()
            done.beside.append(_load(service, LOAD_S))
            after = viewers.fetched()
            done.answers += after[0] - before[0]
            done.bytes += after[1] - before[1]
        else:
            viewers.go_away()
            done.alone.append(_load(service, LOAD_S))
    return done


def _load(service: Service, seconds: int) -> LoadResult:
    return run_wrk(
        service.url(PUBLISH_32.path("measured")),
        script=PUBLISH_32.script,
        connections=PUBLISH_32.connections,
        threads=2,
        seconds=seconds,
        env={"BENCH_TOKEN": service.token, "BENCH_BULK": "1"},
    )
