"""How many events a second one process takes out of the streams and writes to a lake on the local disk."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from queues.engine import Engine, PublishOptions, ack, consume, publish

from .processes import ROOT
from .report import Bar, Figure, Section
from .settings import Settings
from .stores import fresh_engine
from .tools import VoidRunError

QUEUES = 50
EVENTS = 400_000
TOGETHER = 250
BULK = 64
TIMEOUT_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Events a second; µs that Redis was busy for each event; bytes of each event in the lake."""

    per_second: float
    redis_us: float
    bytes: float


def fill_singly(engine: Engine, events: int) -> None:
    """One event an entry: what jobs that are published, taken and acknowledged one at a time leave behind."""
    queues = [engine.queue("bench", f"orders-{number}") for number in range(QUEUES)]
    for first in range(0, events // 3, TOGETHER):
        some = [queues[number % QUEUES] for number in range(first, first + TOGETHER)]
        engine.batch([publish(queue, [b"x" * 100], PublishOptions(tries=3)) for queue in some])
        steps = [next(consume(queue, ttr_ms=60_000, consumer="worker-1"))[0] for queue in some]
        taken = [result.jobs for result in engine.batch(steps)]
        engine.batch(
            [ack(queue, [job.job_id for job in jobs]) for queue, jobs in zip(some, taken, strict=True) if jobs]
        )


def fill_in_bulk(engine: Engine, events: int) -> None:
    """64 events an entry: what bulk publishing leaves behind."""
    for number in range(events // BULK):
        engine.run(publish(engine.queue("bench", f"orders-{number % QUEUES}"), [b"x" * 100] * BULK))


def drain(*, in_bulk: bool, events: int) -> Run:
    """Fill a Redis, then drain it by a process of its own."""
    with fresh_engine() as engine, tempfile.TemporaryDirectory() as folder:
        (fill_in_bulk if in_bulk else fill_singly)(engine, events)
        (url,) = {f"unix://{engine.client.connection_pool.connection_kwargs['path']}"}
        engine.client.config_resetstat()
        done = subprocess.run(
            [sys.executable, "-m", "bench.drainer", url, folder],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        if done.returncode:
            raise VoidRunError(f"the drain failed: {done.stderr[-500:]}")
        drained, seconds = done.stdout.split()
        if int(drained) < events * 0.99:
            raise VoidRunError(f"{drained} of {events} events were drained")
        busy = sum(
            kind["usec"] for name, kind in engine.client.info("commandstats").items() if name == "cmdstat_evalsha"
        )
        size = sum(path.stat().st_size for path in (Path(folder) / "lake").rglob("*.parquet"))
        return Run(per_second=int(drained) / float(seconds), redis_us=busy / int(drained), bytes=size / int(drained))


def measure(settings: Settings) -> Section:
    """Redis, the drain and the disk share the machine with nothing else. Of Redis, warming up is counted too."""
    events = settings.scaled(EVENTS)
    figures = []
    for name, in_bulk in (("one event an entry", False), (f"{BULK} events an entry", True)):
        runs = [drain(in_bulk=in_bulk, events=events) for _ in range(settings.runs)]
        figures += [
            Figure(
                name=f"{name}: events drained by one process",
                unit="events/s",
                runs=[run.per_second for run in runs],
                bar=Bar(sense="≥", value=50_000),
            ),
            Figure(name=f"{name}: time of Redis", unit="µs/event", runs=[run.redis_us for run in runs]),
            Figure(name=f"{name}: size in the lake", unit="bytes", runs=[run.bytes for run in runs]),
        ]
    return Section(title=f"{events:,} events of {QUEUES} queues, from Redis to Parquet files", figures=figures)
