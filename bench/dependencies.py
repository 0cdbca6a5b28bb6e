"""Dependencies over HTTP: how soon a dependant is delivered, one job that depends on 100,000, and 100,000 on one."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import redis

from queues.engine import open_engine

from .report import Bar, Figure, Section, percentile
from .servers import JOB_JSON, Client, Service, running_service
from .settings import Settings
from .tools import VoidRunError

PAIRS = 500
JOBS = 100_000
BATCH = 1_000
"""Jobs of a bulk publish, and dependencies of one request."""

TAKEN = 100
"""Jobs of a consume and of a bulk ack."""

CONSUMERS = 4
SLOW_US = 1_000
TIMEOUT_S = 120


def measure_relay(settings: Settings) -> Section:
    """One producer and one consumer that waits, on one service for all runs."""
    pairs = settings.scaled(PAIRS)
    with running_service() as service:
        measured = [_relay_latencies_ms(service, run, pairs) for run in range(settings.runs)]
    return Section(
        title=f"A job that depends on another, in another queue; {pairs} of them, one consumer waits",
        figures=[
            Figure(name=f"ack → delivery, p{part}", unit="ms", runs=[percentile(one, part) for one in measured])
            for part in (50, 99)
        ],
    )


def _relay_latencies_ms(service: Service, run: int, pairs: int) -> list[float]:
    """For each pair, ms from before the ack of the dependency until its dependant has been read by the consumer."""
    client, waits, delivered = service.client(), threading.Semaphore(0), threading.Semaphore(0)
    at: list[float] = []

    def consume() -> None:
        consumer = service.client()
        for _ in range(pairs):
            waits.release()
            _expect(200, consumer.call("GET", f"after{run}?timeout=10&ttr=60"))
            at.append(time.perf_counter())
            delivered.release()

    thread = threading.Thread(target=consume)
    thread.start()
    latencies = []
    for _ in range(pairs):
        first = _expect(201, client.call("PUT", f"before{run}", b"first"))["job_id"]
        _expect(201, client.call("PUT", f"after{run}?depends_on=before{run}/{first}", b"second"))
        _expect(200, client.call("GET", f"before{run}"))
        waits.acquire()
        began = time.perf_counter()
        _expect(204, client.call("DELETE", f"before{run}/job/{first}"))
        if not delivered.acquire(timeout=TIMEOUT_S):
            raise VoidRunError("a dependant was not delivered")
        latencies.append(1_000 * (at[-1] - began))
    thread.join()
    return latencies


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Jobs per second made and done, and the longest script."""

    made_per_s: float
    done_per_s: float
    slowest_ms: float


def measure_fan_in(settings: Settings) -> Section:
    """Each run on a service of its own: one client publishes, four consume and ack."""
    jobs = settings.scaled(JOBS)
    return _section(f"One job that depends on {jobs:,}", settings, lambda: _fan_in(jobs))


def measure_fan_out(settings: Settings) -> Section:
    """Each run on a service of its own: one client publishes, acks the one, and looks."""
    jobs = settings.scaled(JOBS)
    return _section(f"{jobs:,} jobs that depend on one", settings, lambda: _fan_out(jobs))


def _section(title: str, settings: Settings, run: Callable[[], Run]) -> Section:
    runs = [run() for _ in range(settings.runs)]
    return Section(
        title=title,
        figures=[
            Figure(name="published, with their dependencies", unit="jobs/s", runs=[one.made_per_s for one in runs]),
            Figure(
                name="until the last one is delivered or ready", unit="jobs/s", runs=[one.done_per_s for one in runs]
            ),
            Figure(
                name="slowest script",
                unit="ms",
                runs=[one.slowest_ms for one in runs],
                bar=Bar(sense="≤", value=5),
            ),
        ],
    )


def _fan_in(jobs: int) -> Run:
    with running_service() as service, redis.Redis.from_url(service.redis_url) as store:
        client = service.client()
        _watch_scripts(store)
        began = time.perf_counter()
        total = _expect(201, client.call("PUT", "totals?dependencies=open", b"sum"))["job_id"]
        for ids in _publish(client, "parts", jobs):
            body = json.dumps({"depends_on": [f"parts/{job_id}" for job_id in ids]}).encode()
            _expect(200, client.call("POST", f"totals/job/{total}/dependencies", body))
        closed = _expect(200, client.call("POST", f"totals/job/{total}/dependencies/close"))
        made = time.perf_counter() - began
        if closed != {"state": "blocked", "waits_for_total": jobs}:
            raise VoidRunError(f"the job was closed as {closed}")
        began = time.perf_counter()
        threads = [threading.Thread(target=_work_off, args=(service, "parts")) for _ in range(CONSUMERS)]
        for thread in threads:
            thread.start()
        sums = _expect(200, client.call("GET", "totals?timeout=60"))
        done = time.perf_counter() - began
        for thread in threads:
            thread.join()
        if sums["job_id"] != total or client.counts("parts")["working"]:
            raise VoidRunError("the job was delivered before all that it depends on were acked")
        return Run(made_per_s=jobs / made, done_per_s=jobs / done, slowest_ms=_slowest_ms(store))


def _fan_out(jobs: int) -> Run:
    with running_service() as service, redis.Redis.from_url(service.redis_url) as store:
        client = service.client()
        _watch_scripts(store)
        began = time.perf_counter()
        first = _expect(201, client.call("PUT", "first", b"first"))["job_id"]
        for _ in _publish(client, "others", jobs, f"?depends_on=first/{first}"):
            pass
        made = time.perf_counter() - began
        _expect(200, client.call("GET", "first"))
        began = time.perf_counter()
        _expect(204, client.call("DELETE", f"first/job/{first}"))
        _wait_ready(service, store, "others", jobs)
        done = time.perf_counter() - began
        return Run(made_per_s=jobs / made, done_per_s=jobs / done, slowest_ms=_slowest_ms(store))


def _wait_ready(service: Service, store: redis.Redis, queue: str, jobs: int) -> None:
    """Return when so many jobs are ready. Counts again at each event of the queue's partition."""
    client = service.client()
    with contextlib.closing(open_engine(service.redis_url)) as engine:
        (events,) = engine.queue(service.namespace, queue).select(("events",))
    until = time.perf_counter() + TIMEOUT_S
    while time.perf_counter() < until:
        newest = store.xinfo_stream(events)["last-generated-id"]
        if client.counts(queue)["ready"] >= jobs:
            return
        store.xread({events: newest}, count=1, block=1_000)
    raise VoidRunError(f"not all of {queue} were ready in time")


def _publish(client: Client, queue: str, jobs: int, options: str = "") -> Any:
    """Publish jobs in bulk. Their ids, a request at a time."""
    for start in range(0, jobs, BATCH):
        bodies = b"[" + b",".join([JOB_JSON] * min(BATCH, jobs - start)) + b"]"
        yield _expect(201, client.call("PUT", f"{queue}/bulk{options}", bodies))["job_ids"]


def _work_off(service: Service, queue: str) -> None:
    """Consume and ack until nothing comes."""
    client = service.client()
    while True:
        status, jobs = client.call("GET", f"{queue}?count={TAKEN}&ttr=600")
        if status != 200:
            return
        body = json.dumps({"jobs": [{"id": job["job_id"], "attempt": job["attempt"]} for job in jobs]}).encode()
        _expect(200, client.call("POST", f"{queue}/ack", body))


def _expect(status: int, answer: tuple[int, Any]) -> Any:
    if answer[0] != status:
        raise VoidRunError(f"a request was answered {answer[0]} {str(answer[1])[:200]}")
    return answer[1]


def _watch_scripts(store: redis.Redis) -> None:
    store.config_set("slowlog-max-len", 10_000)
    store.config_set("slowlog-log-slower-than", SLOW_US)
    store.slowlog_reset()


def _slowest_ms(store: redis.Redis) -> float:
    """The longest call of a script, by Redis's own clock."""
    slow = [one["duration"] / 1_000 for one in store.slowlog_get(10_000) if one["command"].startswith(b"EVALSHA")]
    return max(slow, default=SLOW_US / 1_000)
