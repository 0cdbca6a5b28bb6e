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
LETTERS_QUICK = 80_000
BATCH = 1_000
WORK = {"deleted": "DELETE", "respawned": "PUT"}
"""What is done to the letters of a queue of this name, and by which method."""


def figures(settings: Settings) -> Sequence[Figure]:
    """Publish throughput beside the work ÷ alone, and how long the work takes then."""
    need("wrk")
    letters, load_s = (LETTERS_QUICK, 1) if settings.quick else (LETTERS, 3)
    runs = [_run(letters, load_s) for _ in range(settings.runs)]
    found = []
    for done in WORK:
        shares, seconds = zip(*[run[done] for run in runs], strict=True)
        name = f"{letters:,} dead letters are {done}"
        bar = Bar(sense="≥", value=0.5)
        found.append(Figure(name=f"publishes of others while {name}", unit="÷ alone", runs=shares, bar=bar))
        found.append(Figure(name=f"until {name} meanwhile", unit="s", runs=seconds))
    return found


def _run(letters: int, load_s: int) -> dict[str, tuple[float, float]]:
    """Per kind of work: publishes beside it ÷ alone, and how long it took in seconds."""
    with running_service() as service:
        engine = open_engine(service.redis_url)
        try:
            for done in WORK:
                _bury(engine, service.namespace, done, letters)
        finally:
            engine.close()
        _publishes_per_s(service, load_s)  # warm
        return {done: _measure(service, done, method, letters, load_s) for done, method in WORK.items()}


def _measure(service: Service, queue: str, method: str, letters: int, load_s: int) -> tuple[float, float]:
    alone = _publishes_per_s(service, load_s)
    work = _Work(service, method, f"{queue}/deadletter?limit={letters}")
    work.start()
    beside = _publishes_per_s(service, load_s)
    if not work.is_alive():
        raise VoidRunError(f"the dead letters were {queue} within the {load_s} s of the load")
    work.join()
    if work.status not in (200, 204):
        raise VoidRunError(f"{method} of the dead letters: {work.status}")
    return beside / alone, work.took_s


class _Work(threading.Thread):
    """One request that deletes or respawns all dead letters of a queue."""

    def __init__(self, service: Service, method: str, path: str) -> None:
        super().__init__(daemon=True)
        self._client = service.client()
        self._method = method
        self._path = path
        self.status = 0
        self.took_s = 0.0

    def run(self) -> None:
        began = time.perf_counter()
        self.status, _ = self._client.call(self._method, self._path)
        self.took_s = time.perf_counter() - began


def _publishes_per_s(service: Service, load_s: int) -> float:
    return run_wrk(
        service.url(PUBLISH_32.path("others")),
        script=PUBLISH_32.script,
        connections=PUBLISH_32.connections,
        threads=2,
        seconds=load_s,
        env={"BENCH_TOKEN": service.token, "BENCH_BULK": "1"},
    ).requests_per_s


def _bury(engine: Engine, namespace: str, name: str, letters: int) -> None:
    """Dead letters, by leases that run out. Raises ServiceFailedError if they do not come about."""
    queue = engine.queue(namespace, name)
    for _ in range(letters // BATCH):
        engine.run(publish(queue, [b"x" * 100] * BATCH, PublishOptions(tries=1)))
        engine.run(consume(queue, ttr_ms=1, count=BATCH))
    deadline = time.monotonic() + 60
    while engine.client.zcard(queue.select(("dead",))[0]) < letters:
        engine.run(reclaim_ended(engine.layout))
        if time.monotonic() > deadline:
            raise ServiceFailedError("the leases do not run out")
