"""SIGKILL of the web server under load, again and again: are there jobs that nobody ever gets?

Eight publishers and sixteen consumers speak to a server that is killed at random moments and started again at once. A
job counts as lost if its publish was answered 201 and no consumer has seen it by the time the queue is empty.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from .report import Bar, Figure, Section
from .servers import Service, running_service
from .settings import Settings
from .tools import VoidRunError
from .web_server import WebServer, web_server
from .wire import Wire

KILLS = 20
PUBLISHERS = 8
CONSUMERS = 16
TTR_S = 4
TRIES = 1_000
"""More than a job can use up: one that is delivered and lost with the server must come back."""
LOAD_S = (0.5, 1.5)
"""How long a server lives under load, at least and at most."""
BACKLOG_MAX = 1_000
"""Publishers wait while so many jobs are under way, so that the end need not be waited for."""
RETRY_S = 0.02
DRAIN_TIMEOUT_S = 120.0


class Load:
    """The clients, and what they know: ids of jobs answered 201, delivered, and acked with 204."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.published: set[str] = set()
        self.seen: set[str] = set()
        self.acked: set[str] = set()
        self.publishing = True
        self.consuming = True
        works = [self._publish] * PUBLISHERS + [self._consume] * CONSUMERS
        self.threads = [threading.Thread(target=self._keep_at, args=(work,), daemon=True) for work in works]

    def under_way(self) -> int:
        return len(self.published) - len(self.acked)

    def _keep_at(self, work: Callable[[Wire], None]) -> None:
        """Connect anew whenever the server is gone."""
        while self.consuming:
            with suppress(OSError):
                wire = Wire(self._service)
                try:
                    work(wire)
                finally:
                    wire.close()
            time.sleep(RETRY_S)

    def _publish(self, wire: Wire) -> None:
        while self.publishing:
            if self.under_way() > BACKLOG_MAX:
                time.sleep(RETRY_S)
                continue
            status, reply = wire.call("PUT", f"kills?tries={TRIES}", b"x" * 100)
            if status == 201:
                self.published.add(reply["job_id"])

    def _consume(self, wire: Wire) -> None:
        while self.consuming:
            status, job = wire.call("GET", f"kills?timeout=1&ttr={TTR_S}")
            if status == 200:
                self.seen.add(job["job_id"])
                if wire.call("DELETE", f"kills/job/{job['job_id']}")[0] == 204:
                    self.acked.add(job["job_id"])


def _kill_repeatedly(server: WebServer, kills: int) -> None:
    for _ in range(kills):
        time.sleep(random.uniform(*LOAD_S))
        server.kill()
        server.start()


def _drain(service: Service) -> None:
    """Wait until no job is left in any state. Raises VoidRunError."""
    client = service.client()
    deadline = time.monotonic() + DRAIN_TIMEOUT_S
    while left := sum(client.counts("kills")[state] for state in ("ready", "delayed", "retry", "working", "dead")):
        if time.monotonic() > deadline:
            raise VoidRunError(f"{left} jobs are left after {DRAIN_TIMEOUT_S:g} s")
        time.sleep(0.1)


def measure(settings: Settings) -> Section:
    """One run: its kills are the repetitions."""
    kills = settings.scaled(KILLS)
    with running_service() as service, web_server(service) as server:
        load = Load(server.service)
        try:
            for thread in load.threads:
                thread.start()
            _kill_repeatedly(server, kills)
            load.publishing = False
            _drain(service)
        finally:
            load.publishing = load.consuming = False
            for thread in load.threads:
                thread.join(TTR_S)
    return Section(
        title=f"{kills} SIGKILLs of the web server under load, {PUBLISHERS} publishers, {CONSUMERS} consumers",
        figures=[
            Figure(
                name="jobs lost",
                unit="jobs",
                runs=[len(load.published - load.seen)],
                bar=Bar(sense="≤", value=0),
            ),
            Figure(name="published with answer 201", unit="jobs", runs=[len(load.published)]),
        ],
    )
