"""Publishing while twenty people have the overview open, and while nobody has: what the data plane feels of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A load without and one with the pages open. `answers_per_s`, `kib_per_s`: what the pages fetched meanwhile."""

    alone: LoadResult
    beside: LoadResult
    answers_per_s: float
    kib_per_s: float

    @property
    def ratio(self) -> float:
        return self.beside.requests_per_s / self.alone.requests_per_s


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

    def fetched(self) -> tuple[int, int]:
        """Answers and bytes so far. Raises VoidRunError if one was refused."""
        self._ask.write("?\n")
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
    """Pairs of loads on one service, the order of each the other way round. Raises MissingToolError, VoidRunError."""
    need("wrk")
    with running_service() as service:
        client = service.client()
        for number in range(QUEUES):
            client.fill(f"looked-at-{number}", JOBS_EACH)
        browser = Browser(service)
        _load(service, settings.warm_s)
        pairs = [_pair(service, browser, settings, alone_first=number % 2 == 0) for number in range(settings.runs)]
    return Section(
        title=f"publish, 32 connections, beside {PAGES} open overviews",
        figures=[
            Figure(name="alone", unit="req/s", runs=[pair.alone.requests_per_s for pair in pairs]),
            Figure(name="beside the open pages", unit="req/s", runs=[pair.beside.requests_per_s for pair in pairs]),
            Figure(name="ratio", unit="", runs=[pair.ratio for pair in pairs], bar=Bar(sense="≥", value=0.95)),
            Figure(name="latency p99 alone", unit="ms", runs=[pair.alone.p99_ms for pair in pairs]),
            Figure(name="latency p99 beside them", unit="ms", runs=[pair.beside.p99_ms for pair in pairs]),
            Figure(name="what the pages fetch", unit="answers/s", runs=[pair.answers_per_s for pair in pairs]),
            Figure(name="what the pages fetch", unit="KiB/s", runs=[pair.kib_per_s for pair in pairs]),
        ],
    )


def _pair(service: Service, browser: Browser, settings: Settings, *, alone_first: bool) -> Pair:
    alone = _load(service, settings.load_s) if alone_first else None
    with _viewers(service, browser) as viewers:
        answers_before, bytes_before = viewers.fetched()
        beside = _load(service, settings.load_s)
        answers, size = viewers.fetched()
    alone = alone or _load(service, settings.load_s)
    return Pair(
        alone=alone,
        beside=beside,
        answers_per_s=(answers - answers_before) / beside.seconds,
        kib_per_s=(size - bytes_before) / 1_024 / beside.seconds,
    )


def _load(service: Service, seconds: int) -> LoadResult:
    return run_wrk(
        service.url(PUBLISH_32.path("measured")),
        script=PUBLISH_32.script,
        connections=PUBLISH_32.connections,
        threads=2,
        seconds=seconds,
        env={"BENCH_TOKEN": service.token, "BENCH_BULK": "1"},
    )
