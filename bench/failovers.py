"""Failovers of Redis under load, planned and unplanned: are acknowledged jobs gone afterwards?

Two pools share a master that has one replica and three Sentinels: one pool with min_replicas=1, one without. Jobs are
published to both through the HTTP API while the master is failed over and killed by turns. A job counts as lost if its
publish was answered 201 and it cannot be consumed in the end.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from .report import Bar, Figure, Section
from .sentinel import SentinelSetup, sentinel_setup
from .servers import MANAGE, Service, ServiceFailedError, running_service
from .settings import Settings
from .tools import output_of
from .wire import Wire

FAILOVERS: Final = 10
"""Of each kind."""
POOLS: Final[Mapping[str, int]] = {"replicated": 1, "unreplicated": 0}
"""Name → min_replicas. Each has a database of its own on the same servers."""
QUEUE: Final = "failovers"
PUBLISHERS: Final = 4
PAUSE_S: Final = 0.005
"""Of a publisher after an answer, so that neither pool takes the processors from the other."""
LOAD_S: Final = 1.0
"""Under load, before each failover and after the last."""
COLLECT_TIMEOUT_S: Final = 60.0
COMMAND_TIMEOUT_S: Final = 60.0


class Publishers:
    """Publish until they are stopped. `acknowledged`: ids of jobs answered 201; `refused`: number of other answers."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.acknowledged: set[str] = set()
        self.refused = 0
        self._going = True
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(PUBLISHERS)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._going = False
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while self._going:
            with suppress(OSError):
                wire = Wire(self._service)
                try:
                    self._publish(wire)
                finally:
                    wire.close()

    def _publish(self, wire: Wire) -> None:
        while self._going:
            status, reply = wire.call("PUT", QUEUE, b"x" * 100)
            if status == 201:
                self.acknowledged.add(reply["job_id"])
            else:
                self.refused += 1
            time.sleep(PAUSE_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Of one pool: jobs answered 201, those of them that are gone, publishes that were answered otherwise."""

    acknowledged: int
    lost: int
    refused: int


def fail_over_under_load(
    setup: SentinelSetup, services: Mapping[str, Service], *, rounds: int, demote_after_s: float | None = None
) -> dict[str, Outcome]:
    """Each round is a planned failover and a kill. `services`: as the clients of each pool see it, by the pool's name.

    `demote_after_s`: see `SentinelSetup.fail_over`.
    """
    publishers = {pool: Publishers(service) for pool, service in services.items()}
    try:
        for _ in range(rounds):
            time.sleep(LOAD_S)
            setup.fail_over(demote_after_s=demote_after_s)
            time.sleep(LOAD_S)
            setup.kill_master()
        time.sleep(LOAD_S)
    finally:
        for each in publishers.values():
            each.stop()
    return {pool: _outcome(each, services[pool]) for pool, each in publishers.items()}


def _outcome(publishers: Publishers, service: Service) -> Outcome:
    acknowledged = publishers.acknowledged
    return Outcome(
        acknowledged=len(acknowledged), lost=len(acknowledged - _consume_all(service)), refused=publishers.refused
    )


def _consume_all(service: Service) -> set[str]:
    """Ids of all jobs in the queue. Raises ServiceFailedError."""
    wire = Wire(service)
    found: set[str] = set()
    deadline = time.monotonic() + COLLECT_TIMEOUT_S
    try:
        while time.monotonic() < deadline:
            status, reply = wire.call("GET", f"{QUEUE}?count=1000&ttr=3600")
            if status == 404:
                return found
            if status == 200:
                found |= {job["job_id"] for job in reply}
    finally:
        wire.close()
    raise ServiceFailedError(f"the queue is not empty after {COLLECT_TIMEOUT_S:g} s")


def _add_pools(service: Service, setup: SentinelSetup) -> dict[str, Service]:
    """The service as the clients of each pool see it."""
    clients = {}
    for database, (pool, min_replicas) in enumerate(POOLS.items()):
        _manage(service, "pool", "add", pool, setup.url(database), f"--min-replicas={min_replicas}")
        token = _manage(service, "token", "create", service.namespace, "--description=bench", f"--pool={pool}")
        clients[pool] = replace(service, token=token.strip())
    return clients


def _manage(service: Service, *words: str) -> str:
    return output_of([sys.executable, MANAGE, *words], env=service.environment, timeout_s=COMMAND_TIMEOUT_S)


def measure(settings: Settings) -> Section:
    """One run: its failovers are the repetitions."""
    rounds = settings.scaled(FAILOVERS)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="taskq-bench-")))
        setup = stack.enter_context(sentinel_setup(folder))
        service = stack.enter_context(running_service())
        outcomes = fail_over_under_load(setup, _add_pools(service, setup), rounds=rounds)
    return Section(
        title=f"{rounds} planned failovers of Redis and {rounds} SIGKILLs of the master, under load",
        figures=[figure for pool, min_replicas in POOLS.items() for figure in _figures(outcomes[pool], min_replicas)],
    )


def _figures(outcome: Outcome, min_replicas: int) -> list[Figure]:
    bar = Bar(sense="≤", value=0) if min_replicas else None
    return [
        Figure(name=f"jobs lost with min_replicas={min_replicas}", unit="jobs", runs=[outcome.lost], bar=bar),
        Figure(name="  published with answer 201", unit="jobs", runs=[outcome.acknowledged]),
        Figure(name="  other answers to a publish", unit="answers", runs=[outcome.refused]),
    ]
