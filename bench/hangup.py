"""Consumers that hang up while they wait, at a random moment around a publish: does the job go with them?"""

from __future__ import annotations

import random
import time

from .report import Bar, Figure, Section, percentile
from .servers import Service, running_service
from .settings import Settings
from .tools import VoidRunError
from .wire import Wire

ROUNDS = 500
ROUNDS_MAX = 20 * ROUNDS
AROUND_S = 0.003
"""The consumer hangs up so long before the publish is sent, or after, at most."""
SETTLE_S = 0.004
"""Given to a consumer's request to arrive and wait."""


class Hangups:
    """Rounds against one service, and what came of them."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._publisher = Wire(service)
        self._other = Wire(service)
        self.rounds = 0
        self.kept_waiting_ms: list[float] = []
        self.gone_before = 0
        self.gone_after = 0

    def round(self) -> None:
        """One publish around which a waiting consumer hangs up. Does not count if it got the job before."""
        offset_s = random.uniform(-AROUND_S, AROUND_S)
        consumer = Wire(self._service)
        consumer.send("GET", "left?timeout=30&ttr=600")
        time.sleep(SETTLE_S + random.uniform(0, AROUND_S))
        if offset_s < 0:
            consumer.hang_up()
            time.sleep(-offset_s)
        self._publisher.send("PUT", "left?tries=3", b"x" * 100)
        if offset_s >= 0:
            time.sleep(offset_s)
            answer = consumer.hang_up()
            if answer:
                self._publisher.receive()
                self._ack(*answer)
                return
        if self._publisher.receive()[0] != 201:
            raise VoidRunError("a publish was refused")
        self._look(before=offset_s < 0)

    def _look(self, *, before: bool) -> None:
        """Whether another consumer gets the job. `before`: the first hung up before the publish was sent."""
        started = time.perf_counter()
        status, job = self._other.call("GET", "left?timeout=1&ttr=600")
        self.rounds += 1
        if status == 200:
            self.kept_waiting_ms.append((time.perf_counter() - started) * 1_000)
            self._ack(status, job)
        elif before:
            self.gone_before += 1
        else:
            self.gone_after += 1

    def _ack(self, status: int, job: dict[str, str]) -> None:
        if status != 200 or self._other.call("DELETE", f"left/job/{job['job_id']}")[0] != 204:
            raise VoidRunError("a job could not be taken and acked")


def measure(settings: Settings) -> Section:
    """One long run. Raises VoidRunError when consumers can hardly hang up before they are served."""
    rounds = settings.scaled(ROUNDS)
    with running_service() as service:
        hangups = Hangups(service)
        for _ in range(ROUNDS_MAX):
            if hangups.rounds == rounds:
                break
            hangups.round()
        else:
            raise VoidRunError(f"only {hangups.rounds} consumers hung up before they were served")
    waits = hangups.kept_waiting_ms or [0.0]
    return Section(
        title=f"A consumer hangs up within {AROUND_S * 1_000:g} ms of a publish, {rounds} times",
        figures=[
            Figure(
                name="gone for 1 s or more: hung up before the publish",
                unit="jobs",
                runs=[hangups.gone_before],
                bar=Bar(sense="≤", value=0),
            ),
            Figure(
                name="gone for 1 s or more: hung up after the publish",
                unit="jobs",
                runs=[hangups.gone_after],
                bar=Bar(sense="≤", value=0),
            ),
            Figure(name="the other consumer waits, p50", unit="ms", runs=[percentile(waits, 50)]),
            Figure(name="the other consumer waits, longest", unit="ms", runs=[max(waits)]),
        ],
    )
