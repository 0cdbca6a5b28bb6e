"""`python -m bench.flood [--minutes 10] [--queues 1] [--single]`, or `--burst [JOBS]`: whether the drain keeps up.

A whole service (`manage.py up`) with its own Redis and lake; beside it one process publishes, consumes and acknowledges
jobs in bulk as fast as Redis takes them, so that the number of events is known. After that the drain writes what
is left, and the rows of the lake are counted: each event has to be there once. Exit status 1: some are not.

`--burst` publishes 600,000 jobs to one queue, or so many, by calls that are encoded ahead: as fast as Redis takes them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from queues.engine import Engine, PublishOptions, QueueKeys, ack, consume, open_engine, partition_load, publish
from queues.lake.files import list_days, read_day

from .burst_publisher import BULK as BURST_BULK
from .burst_publisher import publish_burst
from .report import Bar, Figure, Section, show
from .servers import FILL_BATCH, MANAGE, running_service
from .tools import VoidRunError

BURST_JOBS: Final = 600_000
BULK: Final = 500
SINGLE: Final = 100
LOOK_EVERY_S: Final = 0.25
LEASE_MS: Final = 600_000
DRAIN_REST_S: Final = 300


@dataclass(slots=True)
class Load:
    """What one flood did: events that its calls appended, and the most that the streams held of their memory, 0..1."""

    events: int = 0
    seconds: float = 0.0
    most: float = 0.0
    dropped: int = 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.flood", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long jobs are published (default: 10)")
    parser.add_argument("--queues", type=int, default=1, help="queues that they go to in turn (default: 1)")
    parser.add_argument("--single", action="store_true", help="one job a call, so one event an entry; else 500")
    parser.add_argument(
        "--burst",
        type=int,
        nargs="?",
        const=BURST_JOBS,
        metavar="JOBS",
        help=f"instead, so many jobs into one queue at once (default: {BURST_JOBS:,})",
    )
    asked = parser.parse_args()
    with running_service() as service:
        engine = open_engine(service.redis_url)
        try:
            if asked.burst:
                load = burst(engine, service.redis_socket, jobs=asked.burst)
            else:
                load = flood(engine, seconds=asked.minutes * 60, queues=asked.queues, single=asked.single)
            before = rows_of(service.data_dir / "lake")
            command = [sys.executable, MANAGE, "runpump", "--once"]
            subprocess.run(
                command, env=service.environment, check=True, timeout=DRAIN_REST_S, stdout=subprocess.DEVNULL
            )
        finally:
            engine.close()
        rows = rows_of(service.data_dir / "lake")
    more = rows - load.events - FILL_BATCH  # the service begins with so many jobs
    show(
        Section(
            title=f"{load.events:,} jobs into one queue in {load.seconds:.1f} s"
            if asked.burst
            else f"{load.seconds:.0f} s of jobs in {asked.queues} queue(s), {'one' if asked.single else BULK} a call",
            figures=[
                Figure(name="events", unit="events/s", runs=[load.events / load.seconds]),
                Figure(name="events dropped", unit="events", runs=[load.dropped], bar=Bar(sense="≤", value=0)),
                Figure(name="the most of a pool's memory for events that was taken", unit="%", runs=[100 * load.most]),
                Figure(name="not in the lake when it ended", unit="events", runs=[load.events + FILL_BATCH - before]),
                Figure(name="more or fewer rows in the lake than events", unit="events", runs=[more]),
            ],
        )
    )
    return 0 if load.dropped == 0 and more == 0 else 1


def burst(engine: Engine, path: str, *, jobs: int) -> Load:
    """Jobs into one queue as fast as Redis takes them."""
    load = Load()
    stopping = threading.Event()

    def look() -> None:
        while not stopping.wait(LOOK_EVERY_S):
            _look(engine, load)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        load.seconds = publish_burst(engine, path, engine.queue("flood", "burst"), jobs)
    finally:
        stopping.set()
        watcher.join()
    load.events = jobs // BURST_BULK * BURST_BULK + 1
    _look(engine, load)
    return load


def flood(engine: Engine, *, seconds: float, queues: int, single: bool) -> Load:
    """Cycles of publish, consume and ack until the time is over."""
    keys = [engine.queue("flood", f"orders-{number}") for number in range(queues)]
    load = Load()
    began = looked = time.perf_counter()
    turn = 0
    while (now := time.perf_counter()) - began < seconds:
        queue = keys[turn % queues]
        turn += 1
        load.events += cycle_singly(engine, queue) if single else cycle_in_bulk(engine, queue)
        if now - looked >= LOOK_EVERY_S:
            looked = now
            _look(engine, load)
    load.seconds = time.perf_counter() - began
    _look(engine, load)
    return load


def cycle_in_bulk(engine: Engine, queue: QueueKeys) -> int:
    """Events of 500 jobs that live through one call each of publish, consume and ack."""
    engine.run(publish(queue, [b"x" * 100] * BULK, PublishOptions(tries=3)))
    jobs = engine.run(consume(queue, ttr_ms=LEASE_MS, consumer="flood", count=BULK)).jobs
    if len(jobs) != BULK:
        raise VoidRunError(f"{len(jobs)} of {BULK} jobs were delivered")
    engine.run(ack(queue, [job.job_id for job in jobs]))
    return 3 * BULK


def cycle_singly(engine: Engine, queue: QueueKeys) -> int:
    """The same with a call for each job, pipelined."""
    engine.batch([publish(queue, [b"x" * 100], PublishOptions(tries=3)) for _ in range(SINGLE)])
    steps = [next(consume(queue, ttr_ms=LEASE_MS, consumer="flood"))[0] for _ in range(SINGLE)]
    jobs = [job for result in engine.batch(steps) for job in result.jobs]
    if len(jobs) != SINGLE:
        raise VoidRunError(f"{len(jobs)} of {SINGLE} jobs were delivered")
    engine.batch([ack(queue, [job.job_id]) for job in jobs])
    return 3 * SINGLE


def _look(engine: Engine, load: Load) -> None:
    parts = engine.batch([partition_load(partition) for partition in range(engine.layout.partitions)])
    memory = engine.layout.events_cap * engine.layout.partitions
    load.most = max(load.most, sum(part.events_bytes for part in parts) / memory)
    load.dropped = sum(part.events_dropped for part in parts)


def rows_of(lake: Path) -> int:
    """Events of a lake, by the footers of the files that count."""
    return sum(read_day(str(lake), day).rows for day in list_days(str(lake)))


if __name__ == "__main__":
    sys.exit(main())
