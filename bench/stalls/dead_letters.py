"""How many publishes others get through while 200,000 dead letters are deleted or respawned, beside how many alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from queues.engine import Engine, PublishOptions, consume, open_engine, publish, reclaim_ended

from ..load import run_wrk
from ..report import Bar, Figure
from ..servers import Service, ServiceFailedError, running_service
from ..settings import Settings
from ..shapes import PUBLISH_32
from ..tools import VoidRunError, need

LETTERS = 200_000
BATCH = 1_000
LOAD_S = 3
QUEUE = "dead"


def figures(settings: Settings) -> Sequence[Figure]:
    """Publish throughput beside the work ÷ alone, and how long the work takes then."""
    need("wrk")
    deleted = [_measure("DELETE") for _ in range(settings.runs)]
    respawned = [_measure("PUT") for _ in range(settings.runs)]
    bar = Bar(sense="≥", value=0.5)
    return [
        Figure(
            name=f"publishes of others while {LETTERS:,} dead letters are {what}",
            unit="÷ alone",
            runs=[share for share, _ in runs],
            bar=bar,
        )
        for what, runs in (("deleted", deleted), ("respawned", respawned))
    ] + [
        Figure(name=f"until {LETTERS:,} dead letters are {what} meanwhile", unit="s", runs=[took for _, took in runs])
        for what, runs in (("deleted", deleted), ("respawned", respawned))
    ]


def _measure(method: str) -> tuple[float, float]:
    """Publishes beside the work ÷ alone, and how long the work took in seconds."""
    with running_service() as service:
        engine = open_engine(service.redis_url)
        try:
            _bury(engine, service.namespace)
        finally:
            engine.close()
        _publishes_per_s(service)  # warm
        alone = _publishes_per_s(service)
        work = _Work(service, method)
        work.start()
        beside = _publishes_per_s(service)
        if not work.is_alive():
            raise VoidRunError(f"the work was done within the {LOAD_S} s of the load")
        work.join()
        if work.status not in (200, 204):
            raise VoidRunError(f"{method} of the dead letters: {work.status}")
        return beside / alone, work.took_s


class _Work(threading.Thread):
    """One request that deletes or respawns all dead letters."""

    def __init__(self, service: Service, method: str) -> None:
        super().__init__(daemon=True)
        self._client = service.client()
        self._method = method
        self.status = 0
        self.took_s = 0.0

    def run(self) -> None:
        began = time.perf_counter()
        self.status, _ = self._client.call(self._method, f"{QUEUE}/deadletter?limit={LETTERS}")
        self.took_s = time.perf_counter() - began


def _publishes_per_s(service: Service) -> float:
    return run_wrk(
        service.url(PUBLISH_32.path("others")),
        script=PUBLISH_32.script,
        connections=PUBLISH_32.connections,
        threads=2,
        seconds=LOAD_S,
        env={"BENCH_TOKEN": service.token, "BENCH_BULK": "1"},
    ).requests_per_s


def _bury(engine: Engine, namespace: str) -> None:
    """Dead letters, by leases that run out. Raises ServiceFailedError if they do not come about."""
    queue = engine.queue(namespace, QUEUE)
    for _ in range(LETTERS // BATCH):
        engine.run(publish(queue, [b"x" * 100] * BATCH, PublishOptions(tries=1)))
        engine.run(consume(queue, ttr_ms=1, count=BATCH))
    deadline = time.monotonic() + 60
    while engine.client.zcard(queue.select(("dead",))[0]) < LETTERS:
        engine.run(reclaim_ended(engine.layout))
        if time.monotonic() > deadline:
            raise ServiceFailedError("the leases do not run out")
