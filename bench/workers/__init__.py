"""Workers: no-op tasks a second, latency, what a killed worker costs; and the same of other task queues.

The peers run if TASKQ_BENCH_PEERS names a Python that has them (`make bench-worker`).
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from queues.embedded import EmbeddedRedis
from queues.engine import Engine, PublishOptions, ack, consume, open_engine, publish
from taskq import App

from ..processes import ROOT
from ..report import Bar, Figure, Section
from ..servers import free_port, running_service
from ..settings import Settings
from ..tools import VoidRunError
from .delay import delaying_proxy
from .peers import HOW_ENQUEUED, PEERS, measure_peer

JOBS: Final = 60_000
SYNC_JOBS: Final = 20_000
PEER_JOBS: Final = 4_000
ENQUEUED: Final = 20_000
STAMPS: Final = 300
HELD: Final = 50
GIVE_UP_S: Final = 120.0
NAMESPACE: Final = "bench"


def measure(settings: Settings) -> Section:
    """All figures. One worker process each, Redis without persistence on the same machine."""
    runs = range(settings.runs)
    figures = [
        _figure("no-op async tasks, one process", "1/s", [_async(settings) for _ in runs], _at_least(15_000)),
        _figure(
            "the same, 2 ms to Redis and back", "1/s", [_async(settings, rtt_ms=2) for _ in runs], _at_least(8_000)
        ),
        _figure("the same over HTTP", "1/s", [_over_http(settings) for _ in runs], _at_least(8_000)),
        _figure("no-op sync tasks on threads", "1/s", [_sync(settings) for _ in runs], _at_least(8_000)),
        _figure("enqueue, one by one", "1/s", [_enqueue(settings) for _ in runs], _at_least(12_000)),
        _figure("enqueue_many", "1/s", [_enqueue_many(settings) for _ in runs], _at_least(80_000)),
    ]
    latencies = [_latency(settings) for _ in runs]
    figures += [
        _figure("enqueue to start, idle, p50", "ms", [_percentile(one, 50) for one in latencies], _at_most(3)),
        _figure("enqueue to start, idle, p99", "ms", [_percentile(one, 99) for one in latencies], _at_most(15)),
        _figure("worker killed, lease 2 s: until its jobs run", "s", [_killed() for _ in runs], _at_most(2.5)),
        _figure("memory of an idle worker", "MiB", [_memory() for _ in runs], _at_most(60)),
    ]
    few, many = [_ack_cost(100) for _ in runs], [_ack_cost(20_000) for _ in runs]
    figures += [
        _figure("Redis's time for an ack, 100 jobs running", "µs", few),
        _figure("the same, 20,000 jobs running", "µs", many),
    ]
    if python := os.environ.get("TASKQ_BENCH_PEERS"):
        for peer in PEERS:
            rates = [rate for rate in [_peer(python, peer, settings) for _ in runs] if rate is not None]
            if len(rates) == len(runs):
                how = HOW_ENQUEUED[peer]
                figures.append(_figure(f"{peer}: no-op tasks, one process", "1/s", [run for run, _ in rates]))
                figures.append(_figure(f"{peer}: enqueue, {how}", "1/s", [enqueued for _, enqueued in rates]))
    return Section(title="Workers: one process each", figures=figures)


def _figure(name: str, unit: str, runs: Sequence[float], bar: Bar | None = None) -> Figure:
    return Figure(name=name, unit=unit, runs=list(runs), bar=bar)


def _at_least(value: float) -> Bar:
    return Bar(sense="≥", value=value)


def _at_most(value: float) -> Bar:
    return Bar(sense="≤", value=value)


def _percentile(values: Sequence[float], percent: int) -> float:
    return 1_000 * statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


@contextmanager
def _redis() -> Iterator[EmbeddedRedis]:
    with (
        tempfile.TemporaryDirectory() as folder,
        EmbeddedRedis(Path(folder), persistent=False, port=free_port()) as redis,
    ):
        yield redis


def _url(redis: EmbeddedRedis) -> str:
    """By TCP, as the peers get there."""
    return f"redis://127.0.0.1:{redis.port}/0"


def _tasks(url: str, namespace: str = NAMESPACE, token: str | None = None) -> Any:
    """The module with the tasks, whose app is this URL's."""
    from . import tasks

    tasks.app.broker = App(url, namespace=namespace, token=token).broker
    return tasks


@contextmanager
def _worker(url: str, *words: str, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker process. It logs what it has to say to nobody."""
    environment = {**os.environ, "TASKQ_URL": url, "TASKQ_NAMESPACE": NAMESPACE, "PYTHONPATH": str(ROOT), **env}
    process = subprocess.Popen(
        [sys.executable, "-m", "taskq", "worker", "bench.workers.tasks", *words],
        env=environment,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _rate(tasks: Any, worker_url: str, task: Any, mark: Any, jobs: int, *words: str, **env: str) -> float:
    """Jobs a second between the first and the last that one worker process runs."""
    with tempfile.TemporaryDirectory() as folder:
        first, last = Path(folder) / "first", Path(folder) / "last"
        mark.enqueue(str(first))
        tasks.app.enqueue_many(task.call() for _ in range(jobs))
        mark.enqueue(str(last))
        tasks.app.broker.close()
        with _worker(worker_url, *words, **env):
            _wait_for(last.exists)
            time.sleep(0.1)
        return jobs / (float(last.read_text()) - float(first.read_text()))


def _wait_for(condition: Callable[[], object]) -> None:
    ends = time.monotonic() + GIVE_UP_S
    while not condition():
        if time.monotonic() > ends:
            raise VoidRunError(f"not within {GIVE_UP_S:g} s")
        time.sleep(0.005)


def _async(settings: Settings, rtt_ms: float = 0) -> float:
    with _redis() as redis:
        tasks = _tasks(_url(redis))
        jobs = settings.scaled(JOBS)
        if not rtt_ms:
            return _rate(tasks, _url(redis), tasks.noop, tasks.mark, jobs, "-q", "default", "-c", "200")
        assert redis.port is not None
        with delaying_proxy(redis.port, rtt_ms / 2_000) as port:
            url = f"redis://127.0.0.1:{port}/0"
            return _rate(tasks, url, tasks.noop, tasks.mark, jobs, "-q", "default", "-c", "400")


def _over_http(settings: Settings) -> float:
    with running_service() as service:
        tasks = _tasks(service.redis_url, service.namespace)
        url = f"http://{service.host}:{service.port}"
        env = {"TASKQ_NAMESPACE": service.namespace, "TASKQ_TOKEN": service.token}
        return _rate(
            tasks, url, tasks.noop, tasks.mark, settings.scaled(JOBS // 2), "-q", "default", "-c", "400", **env
        )


def _sync(settings: Settings) -> float:
    with _redis() as redis:
        tasks = _tasks(_url(redis))
        return _rate(
            tasks, _url(redis), tasks.noop_sync, tasks.mark_sync, settings.scaled(SYNC_JOBS), "-q", "sync", "-c", "20"
        )


def _enqueue(settings: Settings) -> float:
    with _redis() as redis:
        tasks = _tasks(_url(redis))
        jobs = settings.scaled(ENQUEUED)
        tasks.noop.enqueue()
        began = time.perf_counter()
        for _ in range(jobs):
            tasks.noop.enqueue()
        rate = jobs / (time.perf_counter() - began)
        tasks.app.broker.close()
        return rate


def _enqueue_many(settings: Settings) -> float:
    with _redis() as redis:
        tasks = _tasks(_url(redis))
        jobs = settings.scaled(5 * ENQUEUED)
        tasks.noop.enqueue()
        began = time.perf_counter()
        tasks.app.enqueue_many(tasks.noop.call() for _ in range(jobs))
        rate = jobs / (time.perf_counter() - began)
        tasks.app.broker.close()
        return rate


def _latency(settings: Settings) -> list[float]:
    """Seconds from before `enqueue` to the handler's first line, one job at a time, the worker having nothing to do."""
    with _redis() as redis, tempfile.TemporaryDirectory() as folder:
        tasks = _tasks(_url(redis))
        path = Path(folder) / "stamps"
        with _worker(_url(redis), "-q", "latency"):
            tasks.stamp.enqueue(str(path), time.monotonic())
            _wait_for(path.exists)
            for _ in range(max(100, settings.scaled(STAMPS))):
                time.sleep(0.02)
                tasks.stamp.enqueue(str(path), time.monotonic())
            time.sleep(0.5)
        tasks.app.broker.close()
        return [float(line) for line in path.read_text().splitlines()[1:]]


def _killed() -> float:
    """From the kill of a worker to the moment in which the last of its jobs has begun again, in another worker."""
    with running_service() as service, tempfile.TemporaryDirectory() as folder:
        tasks = _tasks(service.redis_url, service.namespace)
        path = Path(folder) / "held"
        words = ("-q", "held", "--lease", "2", "-c", str(HELD))
        env = {"TASKQ_NAMESPACE": service.namespace}
        with _worker(service.redis_url, *words, **env) as first:
            tasks.app.enqueue_many(tasks.hold.call(str(path)) for _ in range(HELD))
            _wait_for(lambda: path.exists() and len(path.read_text().splitlines()) == HELD)
            with _worker(service.redis_url, *words, **env):
                _wait_for(lambda: len(tasks.app.broker.run(tasks.app.broker.workers())) == 2)
                first.kill()
                killed_at = time.monotonic()
                _wait_for(lambda: len(path.read_text().splitlines()) == 2 * HELD)
        tasks.app.broker.close()
        return float(path.read_text().splitlines()[-1].split()[1]) - killed_at


def _memory() -> float:
    with _redis() as redis, _worker(_url(redis), "-q", "default") as process:
        tasks = _tasks(_url(redis))
        _wait_for(lambda: tasks.app.broker.run(tasks.app.broker.workers()))
        time.sleep(1)
        tasks.app.broker.close()
        pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _ack_cost(running: int) -> float:
    """Redis's processor time for one acknowledgement of one job, while so many others run."""
    with _redis() as redis:
        engine: Engine = open_engine(_url(redis))
        queue = engine.queue(NAMESPACE, "acks")
        total = running + 1_000
        for first in range(0, total, 1_000):
            engine.run(publish(queue, [b"x" * 64] * min(1_000, total - first), PublishOptions(ttl_ms=0)))
        held: list[str] = []
        while len(held) < total:
            held += [job.job_id for job in engine.run(consume(queue, ttr_ms=600_000, count=1_000)).jobs]
        engine.client.config_resetstat()
        for job_id in held[:1_000]:
            engine.run(ack(queue, [job_id], attempt=1))
        stats = engine.client.info("commandstats")["cmdstat_evalsha"]
        engine.close()
        return float(stats["usec_per_call"])


def _peer(python: str, peer: str, settings: Settings) -> tuple[float, float] | None:
    """Its jobs a second, run and enqueued; None, with a word why, if it did not run."""
    with _redis() as redis:
        assert redis.port is not None
        try:
            return measure_peer(python, peer, redis.port, settings.scaled(PEER_JOBS))
        except VoidRunError as error:
            print(f"{peer}: not measured: {error}", flush=True)
            return None
