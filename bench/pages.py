"""What pages weigh and how long they take over thousands of queues, and what half a minute of the list of queues costs.

Sizes are of heads and bodies as they are sent to a browser that takes br and has nothing in its cache: the page, its
styles and scripts, and what these fetch at once for its charts.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import statistics
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Final
from urllib.parse import urljoin

import brotli

from queues.engine import Engine, PublishOptions, consume, fail, open_engine, publish

from .overview import Browser, wait_for_survey
from .report import Bar, Figure, Section
from .servers import Service, ServiceFailedError, running_service
from .settings import Settings
from .tools import MissingToolError

QUEUES: Final = 5_000
DYING: Final = 200
"""One queue of so many has a dead letter, and as many have a job in hand."""

LOOKS: Final = 5
STALE_S: Final = 2.2
"""After so long a web process reads the survey anew."""

WATCHED_S: Final = 30.0
EVERY_S: Final = 3.0
BUSY: Final = 3
"""Queues of the list that get a job between two looks."""

SERVER_MS: Final = 300.0
FIRST_VIEW_KB: Final = 150.0
HALF_A_MINUTE_KB: Final = 30.0

PAGES: Final = (
    "/",
    "/queues/",
    "/queues/?sort=-ready&page=40",
    "/queues/?q=queue-04&state=ready",
    "/queues/default/{namespace}/queue-00000/",
    "/queues/default/{namespace}/queue-00000/?state=dead",
    "/queues/default/{namespace}/queue-00000/jobs/{job}/",
    "/dead/",
    "/incidents/",
    "/alerts/",
    "/consumers/",
    "/workers/",
    "/schedules/",
    "/workflows/",
    "/push/",
    "/reports/",
    "/activity/",
    "/admin/",
    "/api/docs",
)

_NO_REPORTS: Final = {**os.environ, "TASKQ_REPORT_AT": "off", "TASKQ_REPORT_TODAY_EVERY_S": "0"}
"""One that began meanwhile would take the processors."""

_STATIC: Final = re.compile(r'<(?:link rel="stylesheet" href|script [^>]*src)="([^"]+)"')
_IMPORT: Final = re.compile(r'^import (?:[^"]* from )?"(\./[^"]+|\.\./[^"]+)"', re.MULTILINE)
_CHART: Final = re.compile(r'<figure [^>]*data-url="([^"]+)"')
_VERSION: Final = re.compile(r'data-version="([^"]+)"')


class PagesProcess:
    """The process of a service that makes pages. Raises MissingToolError where there is no /proc."""

    def __init__(self, service: Service) -> None:
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                of_pages = b"servepages" in (process / "cmdline").read_bytes()
                if of_pages and str(service.data_dir).encode() in (process / "environ").read_bytes():
                    self._tasks = process / "task"
                    return
        raise MissingToolError("processor time is read from /proc, which this system does not have")

    def busy_ms(self) -> float:
        """Processor time of all its threads so far."""
        return sum(int(one.read_text().split()[0]) for one in self._tasks.glob("*/schedstat")) / 1e6


class Reader:
    """A browser that takes br and follows redirects; counts what is sent to it."""

    def __init__(self, service: Service, cookies: str) -> None:
        self._connection = http.client.HTTPConnection(service.host, service.port, timeout=60)
        self._cookies = cookies
        self._pages = PagesProcess(service)

    def get(self, path: str, **headers: str) -> tuple[str, int, http.client.HTTPResponse]:
        """Text, bytes and response; redirects count. Raises ServiceFailedError."""
        sent = 0
        for _ in range(4):
            asked = {"Cookie": self._cookies, "Accept-Encoding": "br", **headers}
            self._connection.request("GET", path, headers=asked)
            response = self._connection.getresponse()
            body = response.read()
            sent += len(body) + sum(len(name) + len(value) + 4 for name, value in response.getheaders()) + 17
            if response.status in (301, 302):
                path = urljoin(path, response.headers["Location"])
                continue
            if response.status not in (200, 304):
                raise ServiceFailedError(f"{path}: {response.status}")
            content = brotli.decompress(body) if response.headers.get("Content-Encoding") == "br" else body
            return content.decode(), sent, response
        raise ServiceFailedError(f"{path}: redirects without end")

    def first_view(self, path: str) -> int:
        """Bytes of the page and of all that it needs."""
        text, size, _response = self.get(path)
        waiting = [urljoin(path, unescape(url)) for url in _STATIC.findall(text)]
        seen: set[str] = set()
        while waiting:
            url = waiting.pop()
            if url not in seen:
                seen.add(url)
                content, more, _response = self.get(url)
                size += more
                waiting += [urljoin(url, other) for other in _IMPORT.findall(content)] if url.endswith(".js") else []
        charts = [self.get(unescape(url), **{"X-Live": "1"})[1] for url in _CHART.findall(text)]
        return size + sum(charts)

    def server_ms(self, path: str) -> tuple[float, float]:
        """Until the page is here, with the survey read anew; and what of it the pages process computes. Medians."""
        times, busy = [], []
        for _ in range(LOOKS):
            time.sleep(STALE_S)
            began, worked = time.perf_counter(), self._pages.busy_ms()
            self.get(path)
            times.append((time.perf_counter() - began) * 1_000)
            busy.append(self._pages.busy_ms() - worked)
        return statistics.median(times), statistics.median(busy)

    def watch(self, path: str, *, seconds: float, between: Iterator[None]) -> int:
        """Bytes of so many seconds of a live section, asked for as live.js does."""
        sent, etag = 0, ""
        shown: list[str] = []
        for _ in range(round(seconds / EVERY_S)):
            time.sleep(EVERY_S)
            next(between)
            headers = {"X-Live": "1", "X-Have": ",".join(shown[:200])} | ({"If-None-Match": etag} if etag else {})
            text, size, response = self.get(path, **headers)
            sent += size
            if response.status == 200:
                etag, shown = response.headers["ETag"], _VERSION.findall(text)
        return sent


def _fill(service: Service, engine: Engine, queues: int) -> str:
    """Queues with a ready and a delayed job each; the id of a job of the first."""
    first = ""
    for number in range(queues):
        queue = engine.queue(service.namespace, f"queue-{number:05}")
        engine.run(publish(queue, [b'{"order": %d}' % number], PublishOptions(delay_ms=3_600_000)))
        if number % DYING == 0:
            (job,) = engine.run(publish(queue, [b"dying"], PublishOptions(tries=1))).job_ids
            engine.run(consume(queue, ttr_ms=600_000))
            engine.run(fail(queue, job, error="Traceback (most recent call last):\nValueError: no such order"))
        made = engine.run(publish(queue, [b'{"order": %d, "text": "%b"}' % (number, b"x" * 100)], PublishOptions()))
        first = first or made.job_ids[0]
    return first


def _jobs_now_and_then(engine: Engine, namespace: str) -> Iterator[None]:
    while True:
        for number in range(BUSY):
            engine.run(publish(engine.queue(namespace, f"queue-{number:05}"), [b"x"], PublishOptions()))
        yield


def measure(settings: Settings) -> Section:
    """One service for all pages. Raises ServiceFailedError."""
    queues = settings.scaled(QUEUES)
    with running_service(env=_NO_REPORTS) as service:
        engine = open_engine(service.redis_url)
        try:
            job = _fill(service, engine, queues)
            wait_for_survey(engine, queues, rounds=1)
            reader = Reader(service, Browser(service).cookies)
            figures: list[Figure] = []
            for path in [page.format(namespace=service.namespace, job=job) for page in PAGES]:
                weight = reader.first_view(path)
                times = [reader.server_ms(path) for _ in range(settings.runs)]
                bar = Bar(sense="≤", value=FIRST_VIEW_KB)
                figures += [
                    Figure(name=f"{path}, first view", unit="KB", runs=[weight / 1_000], bar=bar),
                    Figure(
                        name=f"{path}, survey read anew",
                        unit="ms",
                        runs=[all_ms for all_ms, _busy_ms in times],
                        bar=Bar(sense="≤", value=SERVER_MS),
                    ),
                    Figure(name=f"{path}, of which computing", unit="ms", runs=[busy_ms for _all_ms, busy_ms in times]),
                ]
            busy = _jobs_now_and_then(engine, service.namespace)
            watched = reader.watch("/queues/?sort=name", seconds=WATCHED_S, between=busy)
        finally:
            engine.close()
    figures.append(
        Figure(
            name=f"{WATCHED_S:g} s of /queues/, of whose 50 queues {BUSY} get jobs",
            unit="KB",
            runs=[watched / 1_000],
            bar=Bar(sense="≤", value=HALF_A_MINUTE_KB),
        )
    )
    return Section(title=f"Pages over {queues:,} queues", figures=figures)
