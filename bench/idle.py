"""Thousands of consumers that wait on one web process: their memory, their connections, and who else is served."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from queues.engine import Engine, open_engine

from .crowd_process import Crowd, running_crowd
from .limits import raise_open_files
from .processes import wait_for
from .report import Bar, Figure, Section, percentile
from .servers import Service, running_service
from .settings import Settings
from .tools import VoidRunError
from .web_server import WebServer, web_server
from .wire import Wire

WAITERS = 10_000
QUEUES = 100
SPARE_FILES = 500
SETTLE_S = 3.0
PUBLISHES = 300
TIMEOUT_S = 10.0
PAUSE_S = 0.004
"""Given to the measured consumer's request to arrive and wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """One run. `alone_ms`, `latency_ms`: publish → waiting consumer p50, without and with the crowd."""

    kib_each: float
    connections: int
    alone_ms: float
    latency_ms: float
    p99_ms: float
    woken_s: float


def _once(waiters: int) -> Idle:
    with running_service() as service:
        engine = open_engine(service.redis_url)
        try:
            with web_server(service, pages=False) as server:
                measured, connected = _with_crowd(server, engine, waiters)
            # The pump may open another one at any time; those of the web process went with it.
            return replace(measured, connections=len(connected - _connection_ids(engine)))
        finally:
            engine.close()


def _with_crowd(server: WebServer, engine: Engine, waiters: int) -> tuple[Idle, set[int]]:
    """The figures but for the connections; and the ids of all that Redis had at the time."""
    alone = _latencies_ms(server.service)
    before = server.resident_bytes()
    with running_crowd(server.service, waiters=waiters, queues=QUEUES) as crowd:
        crowd.wait_ready()
        time.sleep(SETTLE_S)
        grown = server.resident_bytes() - before
        try:
            latencies = _latencies_ms(server.service)
        except TimeoutError as error:
            raise VoidRunError(f"with {waiters:,} consumers waiting, nobody else is served") from error
        connected = _connection_ids(engine)
        answered = crowd.answers()
        if answered != (0, 0):
            raise VoidRunError(f"{sum(answered)} of {waiters:,} consumers did not go on waiting")
        woken_s = _wake(server.service, crowd, waiters)
    measured = Idle(
        kib_each=grown / waiters / 1_024,
        connections=0,
        alone_ms=percentile(alone, 50),
        latency_ms=percentile(latencies, 50),
        p99_ms=percentile(latencies, 99),
        woken_s=woken_s,
    )
    return measured, connected


def _connection_ids(engine: Engine) -> set[int]:
    return {int(client["id"]) for client in engine.client.client_list()}


def _latencies_ms(service: Service) -> list[float]:
    """From before a publish is sent until the consumer, which waits for a queue of its own, has read the job."""
    publisher, consumer = (Wire(service, timeout_s=TIMEOUT_S) for _ in range(2))
    latencies = []
    for _ in range(PUBLISHES):
        consumer.send("GET", "measured?timeout=30&ttr=60")
        time.sleep(PAUSE_S)
        started = time.perf_counter()
        publisher.send("PUT", "measured?tries=3", b"x" * 100)
        status, job = consumer.receive()
        latencies.append((time.perf_counter() - started) * 1_000)
        if status != 200 or publisher.receive()[0] != 201:
            raise VoidRunError("a job was not published or not delivered")
        consumer.call("DELETE", f"measured/job/{job['job_id']}")
    publisher.close()
    consumer.close()
    return latencies


def _wake(service: Service, crowd: Crowd, waiters: int) -> float:
    """Publish a job for each that waits: proof that all did. Seconds until the last had its job."""
    client = service.client()
    started = time.perf_counter()
    for queue in range(QUEUES):
        client.fill(f"crowd-{queue}", len(range(queue, waiters, QUEUES)))

    def all_served() -> bool:
        return sum(crowd.answers()) == waiters

    wait_for(all_served, f"{waiters:,} waiting consumers get a job each")
    if crowd.answers()[1]:
        raise VoidRunError(f"{crowd.answers()[1]} waiting consumers got something else than a job")
    return time.perf_counter() - started


def measure(settings: Settings) -> Section:
    """Each run has a web process of its own beside the service's; see docs/benchmarks.md for what is counted."""
    waiters = settings.scaled(WAITERS)
    most = raise_open_files()
    if most < waiters + SPARE_FILES:
        raise VoidRunError(
            f"{waiters:,} connections need more than {most:,} open files: raise the hard limit (ulimit -Hn)"
        )
    runs = [_once(waiters) for _ in range(settings.runs)]
    return Section(
        title=f"{waiters:,} consumers wait for {QUEUES} queues on one web process",
        figures=[
            Figure(
                name="memory of the web process per waiter",
                unit="KiB",
                runs=[run.kib_each for run in runs],
                bar=Bar(sense="≤", value=25),
            ),
            Figure(
                name="Redis connections of the web process",
                unit="",
                runs=[run.connections for run in runs],
                bar=Bar(sense="≤", value=3),
            ),
            Figure(
                name="publish → one more waiting consumer, p50",
                unit="ms",
                runs=[run.latency_ms for run in runs],
                bar=Bar(sense="≤", value=1.5),
            ),
            Figure(name="the same, p99", unit="ms", runs=[run.p99_ms for run in runs]),
            Figure(name="the same without the crowd, p50", unit="ms", runs=[run.alone_ms for run in runs]),
            Figure(name="a job for each: until the last has it", unit="s", runs=[run.woken_s for run in runs]),
        ],
    )
