"""Real drains, killed and stopped at any moment while others work and compact: each event comes into the lake once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from queues.embedded import EmbeddedRedis
from queues.engine import Engine, ack, consume, open_engine, plan_drain, publish, read_events
from queues.lake.compact import compact_day
from queues.lake.files import read_day
from queues.pump.roles.drain import Drain
from tests.running.conftest import Site
from tests.running.processes import ROOT, run_manage
from tests.support.lake import Lake, local_lake
from tests.support.waiting import wait_until

POOL = "busy"
KILLS = 60

Told = Counter[tuple[str, str]]
"""How often there was an event of a kind about a job."""


class Worker(threading.Thread):
    """Publishes, takes and acknowledges until told to stop, and remembers what it did."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(daemon=True)
        self.engine = engine
        self.told: Told = Counter()
        self.enough = threading.Event()

    def run(self) -> None:
        number = 0
        while not self.enough.wait(0.001):
            number += 1
            queue = self.engine.queue("shop", f"q{number % 40}")
            ids = self.engine.run(publish(queue, [b"x"] * (1 + number % 4))).job_ids
            taken = [job.job_id for job in self.engine.run(consume(queue, ttr_ms=60_000, count=3)).jobs]
            self.engine.run(ack(queue, taken))
            for kind, jobs in (("published", ids), ("consumed", taken), ("acked", taken)):
                self.told.update((kind, job) for job in jobs)


def drained(lake: Lake) -> Told:
    table = lake.table()
    return Counter(zip(table["kind"].to_pylist(), table["job"].to_pylist(), strict=True))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    with EmbeddedRedis(tmp_path / "redis", persistent=True) as server:
        yield server


class Drainers:
    """Two drains that are killed, stopped and started again."""

    def __init__(self, redis_url: str, lake: Lake, chance: random.Random) -> None:
        self._chance = chance
        self._maker = subprocess.Popen(
            [sys.executable, "-m", "tests.running.drainer", redis_url, lake.url, POOL],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._running = [self._start(), self._start()]
        self._stopped: list[int] = []

    def disturb(self) -> None:
        """Stop one, or kill it, and start another."""
        place = self._chance.randrange(2)
        time.sleep(self._chance.uniform(0, 0.15))  # any moment of its work
        if self._chance.random() < 0.3:
            os.kill(self._running[place], signal.SIGSTOP)
            self._stopped.append(self._running[place])
        else:
            os.kill(self._running[place], signal.SIGKILL)
        self._running[place] = self._start()

    def wake(self) -> None:
        """Those that were stopped go on, as if nothing had happened, with what they had in mind."""
        for pid in self._stopped:
            os.kill(pid, signal.SIGCONT)

    def end(self) -> None:
        for pid in self._running + self._stopped:
            os.kill(pid, signal.SIGKILL)
        self._maker.communicate()

    def _start(self) -> int:
        assert self._maker.stdin is not None
        assert self._maker.stdout is not None
        print(file=self._maker.stdin, flush=True)
        return int(self._maker.stdout.readline())


def test_drains_that_are_killed_and_stopped_at_any_moment_bring_each_event_once(
    server: EmbeddedRedis, tmp_path: Path
) -> None:
    engine = open_engine(server.url)
    lake = local_lake(tmp_path / "lake")
    days = {datetime.now(UTC).date()}
    worker = Worker(engine)
    worker.start()
    drainers = Drainers(server.url, lake, random.Random(1))
    try:
        for number in range(KILLS):
            drainers.disturb()
            if number % 12 == 11:
                compact_day(lake.url, datetime.now(UTC).date())
        drainers.wake()
        worker.enough.set()
        worker.join()
        wait_until(lambda: not any(_lengths(engine)), or_fail="the streams were not drained", timeout_s=30)
    finally:
        drainers.end()
    days.add(datetime.now(UTC).date())
    for day in days:
        assert not read_day(lake.url, day).corrupt
        compact_day(lake.url, day)

    assert worker.told.total() > 1_000
    assert drained(lake) == worker.told
    engine.close()


def _lengths(engine: Engine) -> list[int]:
    return [engine.client.xlen(f"{{tq{number}}}:events") for number in range(engine.layout.partitions)]


def test_a_redis_that_is_killed_under_a_drain_brings_each_event_once(server: EmbeddedRedis, tmp_path: Path) -> None:
    engine = open_engine(server.url)
    engine.client.config_set("appendfsync", "always")  # what it answered is what there is
    lake = local_lake(tmp_path / "lake")
    told: Told = Counter()
    drain = Drain(POOL, url=lake.url, every_s=0)
    for number in range(12):
        ids = engine.run(publish(engine.queue("shop", f"q{number}"), [b"x"] * 50)).job_ids
        told.update(("published", job) for job in ids)
        drain.tick(engine, None)
        if number % 4 == 3:
            server.kill()
            server.start()
            engine = open_engine(server.url)
    while drain.tick(engine, None).more:
        pass

    assert drained(lake) == told
    engine.close()


@pytest.mark.parametrize("began", [False, True])
def test_a_redis_that_is_started_with_an_older_file_brings_no_event_twice(
    server: EmbeddedRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, began: bool
) -> None:
    """`began`: that file knows of the plan, or of an earlier one, but not how it went on."""
    monkeypatch.setattr("queues.pump.roles.drain.PLAN_EVENTS", 30)
    monkeypatch.setattr("queues.pump.roles.drain.read_events", partial(read_events, limit=7))
    engine = open_engine(server.url)
    engine.client.config_set("appendfsync", "always")
    lake = local_lake(tmp_path / "lake")
    drain = Drain(POOL, url=lake.url, every_s=0)
    told: Told = Counter()
    for number in range(200):
        (job,) = engine.run(publish(engine.queue("shop", f"q{number % 20}"), [b"x"])).job_ids
        told["published", job] += 1
    if began:
        drain.tick(engine, None)
        partition = max(range(engine.layout.partitions), key=_lengths(engine).__getitem__)
        engine.run(plan_drain(partition, engine.run(read_events(partition, limit=5)).ids[-1].decode()))
    (file,) = (tmp_path / "redis" / "appendonlydir").glob("*.incr.aof")
    older = file.read_bytes()
    for _ in range(6):
        drain.tick(engine, None)
    drained_before = drained(lake).total()
    server.kill()
    file.write_bytes(older)
    server.start()

    engine = open_engine(server.url)
    assert sum(_lengths(engine)) + drained_before > 200
    while Drain(POOL, url=lake.url, every_s=0, everything=True).tick(engine, None).more:
        pass

    assert drained(lake) == told
    engine.close()


def test_runpump_once_drains_everything_and_says_how_much(site: Site, tmp_path: Path) -> None:
    engine = site.engine()
    for number in range(5):
        engine.run(publish(engine.queue("shop", f"q{number}"), [b"x"] * 100))
    env = site.env | {"TASKQ_LAKE_URL": str(tmp_path / "lake")}

    done = run_manage("runpump", "--once", env=env)

    assert done.returncode == 0, done.stderr
    assert "default drain: queues=" in done.stdout
    assert "jobs=500" in done.stdout
    assert drained(local_lake(tmp_path / "lake")).total() == 500
    assert not any(_lengths(engine))


def test_a_lake_that_cannot_be_written_is_told_once_and_the_other_roles_go_on(site: Site, tmp_path: Path) -> None:
    engine = site.engine()
    engine.run(publish(engine.queue("shop", "orders"), [b"x"]))
    (tmp_path / "file").touch()
    env = site.env | {"TASKQ_LAKE_URL": str(tmp_path / "file" / "lake")}

    done = run_manage("runpump", "--once", env=env)

    assert done.returncode == 1
    assert f"default drain: file://{tmp_path / 'file' / 'lake'}" in done.stderr
    assert "Not a directory" in done.stderr
    assert "default survey: queues=1" in done.stdout
    assert sum(_lengths(engine)) == 1
