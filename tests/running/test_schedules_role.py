"""The role of schedules: when it looks, that a database that is away hinders no other role, and real pumps killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from queues.engine import Engine, JobState, count_jobs
from queues.models import FireOutcome, Namespace, Pool, Schedule, ScheduleFire
from queues.pools import engine_for
from queues.pump.pool_runner import PoolRunner
from queues.pump.role import CircuitBreaker, RoleStats
from queues.pump.roles import schedules as role_module
from queues.pump.roles.schedules import Schedules
from queues.services.errors import MetadataUnavailableError
from queues.services.schedules.editing import local_now_ms, put_schedule
from queues.services.schedules.firing import Round
from queues.services.schedules.rows import to_datetime
from queues.services.schedules.values import ScheduleFields, ScheduleKind
from tests.running.conftest import Site
from tests.running.processes import ROOT

KILLS = 40
SCHEDULES = 30


class Clock:
    """Monotonic seconds that pass when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def engine(db: None) -> Engine:
    Namespace.objects.create(pool=Pool.objects.get(name="default"), name="clock")
    return engine_for("default")


def put(seconds: int = 3_600) -> Schedule:
    fields = ScheduleFields(queue="q", kind=ScheduleKind.INTERVAL, interval_ms=seconds * 1_000)
    put_schedule(pool="default", namespace="clock", name="s", fields=fields)
    return Schedule.objects.get()


def test_it_asks_the_database_once_a_second(engine: Engine, django_assert_num_queries: Any) -> None:
    clock = Clock()
    role = Schedules("default", clock=clock, sleep=clock.sleep)
    put()
    role.tick(engine, None)

    with django_assert_num_queries(0):
        clock.now += 0.99
        role.tick(engine, None)
        assert not role.wait(engine, 0.005)
    assert role.wait(engine, 0.02)
    assert clock.slept == [pytest.approx(0.01)]


def test_it_sleeps_until_the_next_fire(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    role = Schedules("default", clock=clock, sleep=clock.sleep)
    found = Round(decided=0, fired=0, more=False, next_ms=5_120, now_ms=5_000)
    monkeypatch.setattr(role_module, "fire_due", lambda **_: found)

    role.tick(engine, None)

    assert not role.wait(engine, 0.1)
    assert role.wait(engine, 0.2)
    assert clock.slept == [pytest.approx(0.12)]


def test_a_tick_fires_what_is_due_by_the_clock_of_redis(engine: Engine) -> None:
    schedule = put()
    due = to_datetime(local_now_ms() - 5)
    Schedule.objects.update(starts_at=due, due_at=due, fire_at=due)

    counts = Schedules("default").tick(engine, None)

    assert (counts.queues, counts.jobs, counts.more) == (1, 1, False)
    assert ScheduleFire.objects.get(schedule=schedule).outcome == FireOutcome.FIRED


def test_a_database_that_is_away_leaves_the_pools_other_roles_alone(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise MetadataUnavailableError

    monkeypatch.setattr(role_module, "fire_due", refuse)
    runner = PoolRunner("default", stats=RoleStats(), should_stop=lambda: False)
    role = next(one for one in runner.roles if one.name == "schedules")

    runner.run(role)

    breakers: dict[str, CircuitBreaker] = runner._role_breakers
    assert breakers["schedules"].is_open
    assert not runner._pool_breaker.is_open


class Firers:
    """Processes that fire, killed and started again."""

    def __init__(self, env: dict[str, str]) -> None:
        self._maker = subprocess.Popen(
            [sys.executable, "-m", "tests.running.firer", str(SCHEDULES)],
            cwd=ROOT,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.running: list[int] = []

    def ask(self, line: str) -> str:
        assert self._maker.stdin is not None
        assert self._maker.stdout is not None
        print(line, file=self._maker.stdin, flush=True)
        return self._maker.stdout.readline()

    def start(self) -> None:
        self.running.append(int(self.ask("start")))

    def kill(self, place: int) -> None:
        os.kill(self.running.pop(place), signal.SIGKILL)

    def report(self) -> list[tuple[str, float, str, str]]:
        return [tuple(row) for row in json.loads(self.ask("report"))]

    def end(self) -> None:
        for _ in range(len(self.running)):
            self.kill(0)
        self._maker.communicate()


def test_pumps_that_are_killed_at_any_moment_fire_each_due_time_once(site: Site) -> None:
    chance = random.Random(1)
    firers = Firers(site.env)
    try:
        firers.start()
        firers.start()
        for _ in range(KILLS):
            time.sleep(chance.uniform(0, 0.2))  # any moment of their work
            firers.kill(chance.randrange(2))
            firers.start()
        firers.kill(0)
        firers.kill(0)
        rows = firers.report()
    finally:
        firers.end()

    times: dict[str, list[float]] = {}
    for name, due, outcome, _ in rows:
        assert outcome == "fired"
        times.setdefault(name, []).append(due)
    assert len(times) == SCHEDULES
    for found in times.values():
        assert [round(later - earlier, 3) for earlier, later in pairwise(found)] == [1.0] * (len(found) - 1)
    assert set(Counter(job for _, _, _, job in rows).values()) == {1}
    queue = site.engine().queue("clock", "ticks")
    assert site.engine().run(count_jobs(queue))[JobState.READY] == len(rows) >= 3 * SCHEDULES
