"""What metrics and dashboards ask of a pool: pumps, partitions, queues by state, lateness."""

from __future__ import annotations

import pytest

from queues.engine import (
    JobState,
    PumpBeat,
    RoleBeat,
    beat,
    consume,
    count_jobs,
    list_partition,
    list_pumps,
    partition_load,
    stats,
)
from queues.engine.keys import partition_keys, pumps_key
from queues.engine.operations.maintain import promote, promote_due
from queues.engine.operations.pool_status import FORGET_PUMP_MS, PUMPS_MAX

from .world import STATES, World, plain

PUMP_ROLE = RoleBeat(tick_age_ms=40, late_ms=3, ticks=7, jobs=5)


def pulse(pump: str = "host:1:a") -> PumpBeat:
    return PumpBeat(pump=pump, up_ms=9_000, roles={"pump": PUMP_ROLE})


def test_a_beat_ages_by_the_servers_clock(world: World) -> None:
    world.run(beat(pulse(), now_ms=world.now_ms))

    (found,) = world.run(list_pumps(now_ms=world.now_ms + 500))

    assert (found.pump, found.age_ms, found.up_ms) == ("host:1:a", 500, 9_500)
    assert found.roles == {"pump": RoleBeat(tick_age_ms=540, late_ms=3, ticks=7, jobs=5)}


@pytest.mark.parametrize("record", ["", "[]", "{}", '{"up_ms": 1, "roles": []}', '{"up_ms": 1, "roles": {"pump": 1}}'])
def test_a_beat_of_another_version_does_not_hide_the_others(world: World, record: str) -> None:
    world.run(beat(pulse(), now_ms=world.now_ms))
    world.client.hset(pumps_key(), "other", f"{world.now_ms} {record}")

    assert [found.pump for found in world.run(list_pumps(now_ms=world.now_ms))] == ["host:1:a"]


def test_a_later_beat_takes_the_place_of_the_earlier(world: World) -> None:
    world.run(beat(pulse(), now_ms=world.now_ms))
    assert world.run(beat(pulse(), now_ms=world.now_ms + 1_000)) == 1

    (found,) = world.run(list_pumps(now_ms=world.now_ms + 1_000))

    assert found.age_ms == 0


def test_a_pump_beats_on_when_redis_is_full(world: World) -> None:
    world.client.config_set("maxmemory-policy", "noeviction")
    world.client.config_set("maxmemory", 1)
    try:
        assert world.run(beat(pulse(), now_ms=world.now_ms)) == 1
    finally:
        world.client.config_set("maxmemory", 0)


def test_a_pump_that_is_not_heard_of_is_forgotten_by_the_beats_of_others(world: World) -> None:
    world.run(beat(pulse("old"), now_ms=world.now_ms))
    world.run(beat(pulse("new"), now_ms=world.now_ms + FORGET_PUMP_MS - 1))
    assert len(world.run(list_pumps(now_ms=world.now_ms))) == 2

    assert world.run(beat(pulse("new"), now_ms=world.now_ms + FORGET_PUMP_MS)) == 1

    assert [one.pump for one in world.run(list_pumps(now_ms=world.now_ms))] == ["new"]


def test_of_too_many_pumps_the_latest_are_known(world: World) -> None:
    for number in range(PUMPS_MAX + 3):
        world.run(beat(pulse(f"p{number:03}"), now_ms=world.now_ms + number))

    known = [one.pump for one in world.run(list_pumps(now_ms=world.now_ms))]

    assert known == [f"p{number:03}" for number in range(3, PUMPS_MAX + 3)]


def test_a_beat_of_another_version_is_left_out(world: World) -> None:
    world.client.hset(pumps_key(), mapping={"a": b"12 {}", "b": b"no time", "c": b""})

    assert world.run(list_pumps(now_ms=world.now_ms)) == ()


@pytest.mark.parametrize("place", STATES)
def test_jobs_are_counted_by_state(world: World, place: str) -> None:
    world.job_in(place)

    counts = world.run(count_jobs(world.queue))

    assert counts == {state: int(state.value == plain(place)) for state in JobState}


def test_a_partition_tells_how_far_it_is_behind(world: World) -> None:
    world.publish_one(delay_ms=1_000)
    world.publish_one()
    world.take_one(ttr_ms=5_000)
    partition = world.queue.partition

    early = world.run(partition_load(partition, now_ms=world.now_ms + 1_000))
    late = world.run(partition_load(partition, now_ms=world.now_ms + 7_000))

    assert (early.queues, early.due_behind_ms, early.ends_behind_ms) == (1, 0, 0)
    assert (late.due_behind_ms, late.ends_behind_ms) == (6_000, 2_000)
    assert (late.events_dropped, late.events_dropped_at_ms) == (0, 0)
    assert 3 * 64 < late.events_bytes < 3 * 256


def test_events_that_were_dropped_are_counted(world: World) -> None:
    told = {"events_bytes": 5, "events_dropped": 9, "events_dropped_before": 7, "events_dropped_at": 8}
    world.client.hset(partition_keys(0)["counters"], mapping=told)

    found = world.run(partition_load(0, now_ms=world.now_ms))

    assert (found.events_bytes, found.events_dropped, found.events_dropped_lately) == (5, 9, 2)
    assert found.events_dropped_at_ms == 8


def test_the_age_of_the_oldest_event_that_was_not_drained_is_told(world: World) -> None:
    assert world.run(partition_load(0)).events_oldest_ms == 0
    events = partition_keys(0)["events"]
    for number in range(2):
        world.client.xadd(events, {"n": 1}, id=f"{world.now_ms + number}-0")

    assert world.run(partition_load(0, now_ms=world.now_ms + 5_000)).events_oldest_ms == 5_000
    assert world.run(partition_load(0, now_ms=world.now_ms - 5_000)).events_oldest_ms == 0  # the clock was set back


def test_the_queues_of_a_partition_come_in_pages(world: World) -> None:
    layout = world.engine.layout
    names = [f"q{number:02}" for number in range(20)]
    for name in names:
        World(world.engine, world.engine.queue("shop", name)).publish_one()

    found: list[str] = []
    for partition in range(layout.partitions):
        after: bytes | None = None
        while page := world.run(list_partition(layout, partition, after=after, limit=3)):
            assert len(page) <= 3
            found += [queue.queue for queue in page]
            after = page[-1].name

    assert sorted(found) == names


def test_lateness_is_how_much_later_than_due_jobs_are_made_ready(world: World) -> None:
    world.publish(b"1", b"2", delay_ms=1_000)
    world.run(promote_due(world.engine.layout, now_ms=world.now_ms + 1_100))

    late = world.run(stats(world.queue, now_ms=world.now_ms + 1_100)).late_ms

    assert late["p50"] == pytest.approx(100, rel=0.1)


def test_a_consumer_that_makes_a_due_job_ready_counts_its_lateness_too(world: World) -> None:
    world.publish_one(delay_ms=1_000)
    world.run(consume(world.queue, ttr_ms=1_000, now_ms=world.now_ms + 1_000))

    late = world.run(stats(world.queue, now_ms=world.now_ms + 1_000)).late_ms

    assert late == {"p50": 0.5, "p95": 0.5, "p99": 0.5}


def test_nothing_is_counted_late_when_nothing_was_due(world: World) -> None:
    world.publish_one()
    world.publish_one(delay_ms=1_000)
    world.run(promote(world.queue, now_ms=world.now_ms))

    assert world.run(stats(world.queue, now_ms=world.now_ms)).late_ms == {"p50": None, "p95": None, "p99": None}
