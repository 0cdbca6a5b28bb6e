"""A pump says in its pool's Redis how it is doing."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from queues.engine import Counts, Engine, PublishOptions, PumpBeat, list_pumps, open_engine, publish
from queues.pump.pool_runner import BEAT_INTERVAL_S, PUMP_ID, Heartbeat, PoolRunner
from queues.pump.role import BackgroundRole, RoleStats
from queues.pump.roles import roles_for
from tests.running.conftest import Site
from tests.support.waiting import wait_until


@pytest.fixture
def engine(redis_url: str) -> Iterator[Engine]:
    engine = open_engine(redis_url)
    yield engine
    engine.close()


def role(name: str = "pump", *, interval_s: float = 0.1) -> BackgroundRole:
    return BackgroundRole(name=name, interval_s=interval_s, budget_s=1, tick=lambda _engine, _now: Counts())


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def taken(heartbeat: Heartbeat) -> PumpBeat:
    found = heartbeat.take_beat()
    assert found is not None
    return found


def test_a_beat_sums_the_turns_and_tells_the_age_of_the_latest() -> None:
    clock = Clock()
    heartbeat = Heartbeat(clock=clock)
    heartbeat.note(role(), began_at=100, jobs=3)
    heartbeat.note(role(), began_at=100.1, jobs=4)
    heartbeat.note(role("sweeper"), began_at=100.1, jobs=0)
    clock.now = 102

    beat = taken(heartbeat)

    assert (beat.pump, beat.up_ms) == (PUMP_ID, 2_000)
    assert {name: (one.ticks, one.jobs, one.tick_age_ms) for name, one in beat.roles.items()} == {
        "pump": (2, 7, 2_000),
        "sweeper": (1, 0, 2_000),
    }


def test_a_turn_is_late_by_what_exceeds_its_interval() -> None:
    heartbeat = Heartbeat(clock=Clock())
    heartbeat.note(role(interval_s=0.1), began_at=100, jobs=0)
    heartbeat.note(role(interval_s=0.1), began_at=100.35, jobs=0)

    assert taken(heartbeat).roles["pump"].late_ms == 250


def test_a_turn_in_time_is_not_late() -> None:
    heartbeat = Heartbeat(clock=Clock())
    for began_at in (100, 100.35, 100.4):
        heartbeat.note(role(interval_s=0.1), began_at=began_at, jobs=0)

    assert taken(heartbeat).roles["pump"].late_ms == 0


def test_nothing_is_said_twice_within_an_interval() -> None:
    clock = Clock()
    heartbeat = Heartbeat(clock=clock)
    taken(heartbeat)
    clock.now += BEAT_INTERVAL_S - 0.01
    assert heartbeat.take_beat() is None

    clock.now += 0.01

    assert heartbeat.take_beat() is not None


def test_a_pool_runner_sends_a_heartbeat_when_it_has_run_its_roles(engine: Engine) -> None:
    now_ms = round(time.time() * 1000) - 60_000
    engine.run(publish(engine.queue("ns", "q"), [b"x"] * 5, PublishOptions(delay_ms=1), now_ms=now_ms))
    runner = PoolRunner("default", stats=RoleStats(), should_stop=lambda: False, open_engine=lambda _pool: engine)

    runner.run(runner.roles[0])

    (beat,) = engine.run(list_pumps())
    assert beat.pump == PUMP_ID
    assert (beat.roles["pump"].ticks, beat.roles["pump"].jobs) == (1, 5)


def test_each_role_has_a_turn_at_least_every_ten_seconds() -> None:
    assert {role.name for role in roles_for("default") if 0 < role.interval_s <= 10} == {
        "pump",
        "groups",
        "reclaimer",
        "relay",
        "sweeper",
        "deleter",
        "bounds",
        "objectives",
        "survey",
        "drain",
        "counts",
        "schedules",
    }


def test_one_turn_for_a_look_leaves_no_beat(engine: Engine) -> None:
    """`runpump --once`: nobody should wait for the next beat of a process that has ended."""
    runner = PoolRunner("default", stats=RoleStats(), should_stop=lambda: False, open_engine=lambda _pool: engine)

    runner.turn(runner.roles[0])

    assert engine.run(list_pumps()) == ()


def test_a_running_pump_is_heard_of_again_and_again(site: Site, start: Callable[..., subprocess.Popen[str]]) -> None:
    """Of all roles but `bounds`, whose first turn comes after ten seconds; test_up sees it in a pump that is older."""
    process = start("runpump")
    engine = site.engine()
    first = wait_until(lambda: engine.run(list_pumps()), or_fail="no beat", timeout_s=30)
    assert f":{process.pid}:" in first[0].pump

    def went_on() -> bool:
        (beat,) = engine.run(list_pumps())
        roles = beat.roles
        return (
            roles.keys() >= {"pump", "reclaimer", "sweeper", "deleter", "survey", "drain", "schedules"}
            and roles["pump"].ticks > 10
        )

    wait_until(went_on, or_fail="the beats stand still", timeout_s=30)
    engine.close()
