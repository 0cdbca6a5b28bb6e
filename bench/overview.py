"""The dashboard over thousands of queues: how long its pages take, and what the survey behind them costs Redis."""

from __future__ import annotations

import http.client
import re
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from queues.engine import Engine, PublishOptions, consume, open_engine, publish, read_survey

from .processes import wait_for
from .report import Bar, Figure, Section
from .servers import Service, ServiceFailedError, running_service
from .settings import Settings

QUEUES: Final = 5_000
JOBS_EACH: Final = 200
BODY: Final = b"x" * 100
WORKED: Final = 10
"""One queue of so many has a job in hand."""

LOOKS: Final = 8
STALE_S: Final = 2.2
"""After so long a web process reads the survey anew."""

WATCHED_S: Final = 15.0
SURVEYED_S: Final = 300.0
LONG_MS: Final = 600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """One run. Times in ms, each a median; `round_s`: of a survey; `share`: of Redis's time that it takes, in %:
    what the pump's scripts take with all those queues less what they took before."""

    overview_ms: float
    again_ms: float
    queues_ms: float
    chart_ms: float
    round_s: float
    share: float


class Browser:
    """A keep-alive connection of somebody who is signed in."""

    def __init__(self, service: Service) -> None:
        self._connection = http.client.HTTPConnection(service.host, service.port, timeout=60)
        self._cookies: dict[str, str] = {}
        form = self.get("/login/")
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form)
        if token is None:
            raise ServiceFailedError("the sign-in has no form")
        fields = {"csrfmiddlewaretoken": token[1], "username": service.username, "password": service.password}
        self._call("POST", "/login/", urlencode(fields))
        if not any("session" in name for name in self._cookies):
            raise ServiceFailedError("signing in failed")

    def get(self, path: str) -> str:
        """The page. Raises ServiceFailedError unless it is shown."""
        status, text = self._call("GET", path)
        if status != 200:
            raise ServiceFailedError(f"{path}: {status}")
        return text

    @property
    def cookies(self) -> str:
        """What it sends with each request."""
        return "; ".join(f"{name}={value}" for name, value in self._cookies.items())

    def _call(self, method: str, path: str, body: str = "") -> tuple[int, str]:
        headers = {"Cookie": self.cookies}
        if body:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        self._connection.request(method, path, body=body or None, headers=headers)
        response = self._connection.getresponse()
        text = response.read().decode()
        for name, value in response.getheaders():
            if name.lower() == "set-cookie":
                cookie, _, content = value.partition(";")[0].partition("=")
                self._cookies[cookie] = content
        return response.status, text


def _fill(service: Service, engine: Engine, queues: int) -> None:
    for number in range(queues):
        queue = engine.queue(service.namespace, f"queue-{number:05}")
        engine.run(publish(queue, [BODY] * JOBS_EACH, PublishOptions(tries=3)))
        if number % WORKED == 0:
            engine.run(consume(queue, ttr_ms=LONG_MS))


def _wait_for_survey(engine: Engine, queues: int) -> float:
    """Wait for a round that began after all was there. Seconds that it took."""
    ended: list[tuple[int, int]] = []

    def has_gone_round() -> bool:
        head = engine.run(read_survey()).head
        if head is not None and head.queues >= queues and (head.taken_at_ms, head.took_ms) not in ended:
            ended.append((head.taken_at_ms, head.took_ms))
        return len(ended) == 2

    wait_for(has_gone_round, "the survey has gone round", timeout_s=SURVEYED_S)
    return ended[-1][1] / 1_000


def _share_of_scripts(engine: Engine) -> float:
    """Percent of its time that Redis is busy with scripts while nobody but the pump asks for anything."""
    before, began = _script_us(engine), time.perf_counter()
    time.sleep(WATCHED_S)
    return (_script_us(engine) - before) / 1e4 / (time.perf_counter() - began)


def _script_us(engine: Engine) -> float:
    return float(engine.client.info("commandstats")["cmdstat_evalsha"]["usec"])


def _times_ms(browser: Browser, path: str, *, pause_s: float) -> float:
    times: list[float] = []
    for _ in range(LOOKS):
        time.sleep(pause_s)
        began = time.perf_counter()
        browser.get(path)
        times.append((time.perf_counter() - began) * 1_000)
    return statistics.median(times)


def _once(queues: int) -> Looks:
    with running_service() as service:
        engine = open_engine(service.redis_url)
        try:
            without = _share_of_scripts(engine)
            _fill(service, engine, queues)
            round_s = _wait_for_survey(engine, queues)
            share = _share_of_scripts(engine) - without
            browser = Browser(service)
            if "queue-" not in browser.get("/queues/"):
                raise ServiceFailedError("the page of queues does not list them")
            return Looks(
                overview_ms=_times_ms(browser, "/", pause_s=STALE_S),
                again_ms=_times_ms(browser, "/", pause_s=0),
                queues_ms=_times_ms(browser, "/queues/?sort=-ready&page=40", pause_s=STALE_S),
                chart_ms=_times_ms(browser, "/overview/charts?range=24h", pause_s=STALE_S),
                round_s=round_s,
                share=share,
            )
        finally:
            engine.close()


def measure(settings: Settings) -> Section:
    """Through the web server, as a browser asks: from before the request is sent until the page has been read."""
    queues = settings.scaled(QUEUES)
    runs = [_once(queues) for _ in range(settings.runs)]

    def figure(name: str, values: Sequence[float], *, unit: str = "ms", bar: float | None = 300) -> Figure:
        return Figure(name=name, unit=unit, runs=values, bar=None if bar is None else Bar(sense="≤", value=bar))

    return Section(
        title=f"The dashboard over {queues:,} queues with {queues * JOBS_EACH:,} jobs, median of {LOOKS} looks",
        figures=[
            figure("overview, survey read anew", [run.overview_ms for run in runs]),
            figure("overview, survey at hand", [run.again_ms for run in runs]),
            figure("page 40 of the queues by ready jobs, survey read anew", [run.queues_ms for run in runs]),
            figure("a day's chart of all queues", [run.chart_ms for run in runs]),
            figure("Redis's time that the survey takes", [run.share for run in runs], unit="%", bar=3),
            figure("a survey of all queues", [run.round_s for run in runs], unit="s", bar=None),
        ],
    )
