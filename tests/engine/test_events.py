"""Each transition appends exactly its events to the partition's stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from queues.engine import (
    Engine,
    FullStreams,
    PartitionLoad,
    PublishOptions,
    ack,
    ack_attempt,
    delete_dead,
    delete_jobs,
    destroy,
    drain_state,
    extend,
    fail,
    finish_drain,
    open_engine,
    partition_load,
    pause,
    peek,
    plan_drain,
    promote_due,
    publish,
    read_events,
    reclaim_ended,
    release,
    republish,
    respawn,
    resume,
    stats,
    trim_dead,
)
from queues.engine.constants import EVENT_LINES_MAX, EVENTS_FULL_BYTES, EVENTS_MEMORY_MB, MEBIBYTE, PARTITIONS_DEFAULT
from queues.engine.keys import QueueKeys
from queues.engine.operations.maintain import purge
from tests.support.waiting import wait_until

from .test_expiry import sweep_all
from .world import START_MS, STATES, TTR_MS, World

SECRET = b"4111-1111-1111-1111"


@dataclass(frozen=True, slots=True)
class Event:
    kind: str
    job_id: str
    attempt: str = ""
    wait_ms: str = ""
    run_ms: str = ""
    size: str = ""
    worker: str = ""
    error: str = ""


def entries(client: Any, queue: QueueKeys) -> list[dict[bytes, bytes]]:
    return [fields for _, fields in client.xrange(queue.select(("events",))[0])]


def events(world: World) -> list[Event]:
    """All events, oldest first; the entries' own fields are checked on the way."""
    found = []
    for entry in entries(world.client, world.queue):
        lines = [Event(*line.split("\t")) for line in entry[b"e"].decode().split("\n")]
        assert entry[b"n"] == b"%d" % len(lines)
        assert entry[b"q"] == world.queue.name
        assert START_MS <= int(entry[b"t"]) <= world.now_ms
        found += lines
    return found


def forget(world: World) -> None:
    world.client.delete(world.queue.select(("events",))[0])


def after(world: World, work: Any) -> list[Event]:
    """The events of one piece of work."""
    forget(world)
    world.run(work)
    return events(world)


def test_publishing_tells_size_and_delay(world: World) -> None:
    now = world.publish_one(b"12345")
    later = world.publish_one(b"1", delay_ms=70)
    first, second = world.publish(b"", b"12")

    assert events(world) == [
        Event("published", now, size="5"),
        Event("published", later, wait_ms="70", size="1"),
        Event("published", first, size="0"),
        Event("published", second, size="2"),
    ]


def test_a_duplicate_and_a_refused_publish_tell_nothing(world: World) -> None:
    world.publish_one(key="k")

    assert after(world, publish(world.queue, [b"x"], PublishOptions(key="k"), now_ms=world.now_ms)) == []


def test_hand_out_and_ack_tell_wait_and_run(world: World) -> None:
    job_id = world.publish_one(b"123", delay_ms=20)
    forget(world)
    world.advance(50)
    world.take_one(consumer="w 1")
    world.advance(400)
    world.run(ack_attempt(world.queue, job_id, attempt=1, now_ms=world.now_ms))

    assert events(world) == [
        Event("ready", job_id, wait_ms="30"),
        Event("consumed", job_id, attempt="1", wait_ms="30", size="3", worker="w 1"),
        Event("acked", job_id, attempt="1", run_ms="400", worker="w 1"),
    ]


def test_an_ack_of_a_job_that_nobody_holds_is_a_deletion(world: World) -> None:
    job_id = world.job_in("ready")

    assert after(world, ack(world.queue, [job_id], now_ms=world.now_ms)) == [Event("deleted", job_id)]


def test_an_ack_of_a_dead_job_tells_that_it_was_dead(world: World) -> None:
    job_id = world.job_in("dead")

    assert after(world, ack(world.queue, [job_id], now_ms=world.now_ms)) == [Event("deleted", job_id, error="was dead")]


def test_a_failure_tells_its_error_in_one_line(world: World) -> None:
    job_id = world.publish_one(tries=2)
    world.take_one(consumer="w")
    world.advance(9)
    failed = after(world, fail(world.queue, job_id, error="a\tb\nc" + "x" * 300, now_ms=world.now_ms))

    assert failed == [Event("failed", job_id, attempt="1", run_ms="9", worker="w", error="a b c" + "x" * 195)]


def test_the_last_failure_tells_of_the_death_too(world: World) -> None:
    job_id = world.job_in("working")

    assert after(world, fail(world.queue, job_id, error="boom", now_ms=world.now_ms)) == [
        Event("failed", job_id, attempt="1", run_ms="0", error="boom"),
        Event("dead", job_id, attempt="1", error="boom"),
    ]


def test_a_lost_lease_is_told_and_so_is_the_death_it_causes(world: World) -> None:
    job_id = world.publish_one(tries=2)
    for _ in range(2):
        world.take_one(consumer="w")
        world.advance(TTR_MS)
        forget(world)
        world.run(reclaim_ended(world.engine.layout, now_ms=world.now_ms))

    assert events(world) == [
        Event("lease_lost", job_id, attempt="2", run_ms=str(TTR_MS), worker="w"),
        Event("dead", job_id, attempt="2", worker="w", error="lease lost"),
    ]


def test_release_respawn_and_promotion_are_told(world: World) -> None:
    released = world.job_in("working")
    assert after(world, release(world.queue, released, delay_ms=5, now_ms=world.now_ms)) == [
        Event("released", released, attempt="1", run_ms="0")
    ]
    world.advance(5)
    assert after(world, promote_due(world.engine.layout, now_ms=world.now_ms)) == [
        Event("ready", released, wait_ms="0")
    ]
    world.take_one()
    world.run(fail(world.queue, released, now_ms=world.now_ms))
    assert after(world, respawn(world.queue, limit=1, ttl_ms=0, now_ms=world.now_ms)) == [
        Event("respawned", released, attempt="2")
    ]


def test_the_end_of_a_retention_is_told(world: World) -> None:
    kept = world.job_in("completed")
    world.advance(10**9)

    assert after(world, purge(world.queue, now_ms=world.now_ms)) == [Event("purged", kept)]
    assert after(world, purge(world.queue, now_ms=world.now_ms)) == []


@pytest.mark.parametrize("place", STATES)
def test_deletion_and_republishing_are_told(world: World, place: str) -> None:
    job_id = world.job_in(place)
    told = after(world, republish(world.queue, job_id, b"22", PublishOptions(delay_ms=9), now_ms=world.now_ms))
    (new,) = world.state().delayed

    ended = f"was {place}" if place in ("dead", "completed") else ""
    assert told == [Event("published", new, wait_ms="9", size="2"), Event("deleted", job_id, error=ended)]
    assert after(world, delete_jobs(world.queue, [new, job_id], now_ms=world.now_ms)) == [Event("deleted", new)]


def test_what_a_bound_drops_is_told_with_its_reason(world: World) -> None:
    old = world.job_in("dead")
    world.advance(1_000)
    one, two = world.publish(b"1", b"2")
    for job in world.take(count=2):
        world.run(fail(world.queue, job.job_id, now_ms=world.now_ms))

    assert after(world, trim_dead(world.queue, max_age_ms=500, max_count=1, now_ms=world.now_ms)) == [
        Event("deleted", old, error="dead-letter bound: age"),
        Event("deleted", one, error="dead-letter bound: count"),
    ]
    assert after(world, delete_dead(world.queue, limit=5, now_ms=world.now_ms)) == [
        Event("deleted", two, error="was dead")
    ]


def test_expiry_is_told_whoever_comes_across_it(world: World) -> None:
    def expired() -> str:
        job_id = world.publish_one(ttl_ms=10)
        world.advance(10)
        forget(world)
        return job_id

    job_id = expired()
    world.take()
    assert events(world) == [Event("expired", job_id, attempt="0")]
    job_id = expired()
    world.run(peek(world.queue, now_ms=world.now_ms))
    assert events(world) == [Event("expired", job_id, attempt="0")]
    job_id = expired()
    sweep_all(world)
    assert [(event.kind, event.job_id) for event in events(world)] == [("expired", job_id)]


def test_destroying_is_told_by_number_or_job_by_job(world: World) -> None:
    ids = world.publish(b"1", b"2", b"3")
    assert after(world, destroy(world.queue, now_ms=world.now_ms)) == [Event("deleted", job_id) for job_id in ids]
    world.job_in("dead")
    world.job_in("completed")
    world.publish(b"1", b"2")
    world.publish_one(delay_ms=3)
    assert after(world, destroy(world.queue, everything=True, now_ms=world.now_ms)) == [
        Event("destroyed", "", attempt="3", size="5")
    ]


def test_what_is_no_transition_is_not_told(world: World) -> None:
    job_id = world.job_in("working")
    world.publish_one(delay_ms=9_000)
    world.publish_one()
    forget(world)

    world.run(extend(world.queue, job_id, ttr_ms=5, now_ms=world.now_ms))
    world.run(peek(world.queue, now_ms=world.now_ms))
    world.run(stats(world.queue, now_ms=world.now_ms))
    world.run(pause(world.queue, now_ms=world.now_ms))
    world.run(resume(world.queue, now_ms=world.now_ms))
    world.run(promote_due(world.engine.layout, now_ms=world.now_ms))

    assert events(world) == []


def test_one_call_shares_an_entry_between_its_events(world: World) -> None:
    world.publish(*[b"x"] * (EVENT_LINES_MAX * 2 + 1))

    lines = [int(entry[b"n"]) for entry in entries(world.client, world.queue)]

    assert lines == [EVENT_LINES_MAX, EVENT_LINES_MAX, 1]
    assert len(events(world)) == EVENT_LINES_MAX * 2 + 1


def test_bodies_keys_attributes_and_results_are_never_told(world: World) -> None:
    text = SECRET.decode()
    job_id = world.publish_one(SECRET, key=text, attributes={"card": text}, tries=2, retention_ms=1_000)
    world.take_one()
    world.run(fail(world.queue, job_id, now_ms=world.now_ms))
    world.take_one()
    world.run(ack_attempt(world.queue, job_id, result=SECRET, now_ms=world.now_ms))

    assert not [entry for entry in entries(world.client, world.queue) if SECRET in b"".join(entry.values())]


def capped(redis_url: str, cap: int) -> World:
    engine = open_engine(redis_url, partitions=1, events_memory=cap)
    return World(engine, engine.queue("shop", "orders"))


@pytest.mark.parametrize("jobs", [1, 5, EVENT_LINES_MAX * 3])
def test_the_cap_bounds_the_memory_of_events_whatever_the_batches(redis_url: str, jobs: int) -> None:
    cap = 100_000
    world = capped(redis_url, cap)
    told = 0
    while told < 4 * cap // 50:
        told += len(world.publish(*[b"x"] * jobs))

    stream = world.queue.select(("events",))[0]
    kept = sum(int(entry[b"n"]) for entry in entries(world.client, world.queue))
    counters = world.content().partition(0).counters
    assert kept + int(counters["events_dropped"]) == told
    assert 0.9 * cap < int(counters["events_bytes"]) <= cap
    assert 0.7 * cap < world.client.memory_usage(stream, samples=0) <= cap  # Valkey takes less than Redis
    assert abs(int(counters["events_dropped_at"]) - world.now_ms) < 60_000
    world.engine.close()


@pytest.mark.parametrize("cap", [40_000, 16 * EVENTS_FULL_BYTES])
def test_the_call_that_fills_a_stream_wakes_drains_and_no_other(redis_url: str, cap: int) -> None:
    world = capped(redis_url, cap)
    full = world.engine.layout.events_full
    assert full == min(cap // 4, EVENTS_FULL_BYTES)
    streams = FullStreams()
    assert not streams.wait(world.engine, 0.1)

    def held() -> int:
        return world.engine.run(drain_state(0)).bytes

    for _ in range(2):
        while held() < full:
            assert not streams.wait(world.engine, 0.001)
            world.publish(*[b"x"] * (full // 1_200))
        assert streams.wait(world.engine, 5)
        world.publish(b"x")
        assert not streams.wait(world.engine, 0.01)

        last = world.engine.run(read_events(0, limit=100_000)).ids[-1].decode()
        plan = world.engine.run(plan_drain(0, last))
        assert plan is not None
        world.engine.run(finish_drain(0, plan.entries, written=0))
        assert held() == 0
    streams.close()
    world.engine.close()


def test_jobs_are_published_where_the_message_to_drains_is_refused(redis_url: str) -> None:
    """A Redis user may have the right to the channels of wake-ups only."""
    world = capped(redis_url, 40_000)
    world.client.execute_command("ACL", "SETUSER", "default", "resetchannels", b"&" + world.queue.channel)
    try:
        while world.engine.run(drain_state(0)).bytes < world.engine.layout.events_full:
            world.publish(b"x")
    finally:
        world.client.execute_command("ACL", "SETUSER", "default", "allchannels")
    world.engine.close()


def test_a_wait_for_full_streams_survives_a_cut_connection(world: World) -> None:
    streams = FullStreams()
    assert not streams.wait(world.engine, 0.1)
    world.client.client_kill_filter(_type="pubsub")
    wait_until(lambda: not world.client.client_list(_type="pubsub"), or_fail="not cut")

    assert not streams.wait(world.engine, 0.1)
    assert not streams.wait(world.engine, 0.1)
    world.client.publish(world.queue.select(("events",))[0], 1)

    assert streams.wait(world.engine, 5)
    streams.close()


def test_the_cap_holds_when_large_entries_come_after_many_small_ones(redis_url: str) -> None:
    cap = 1_000_000
    world = capped(redis_url, cap)
    one = publish(world.queue, [b"x"], now_ms=world.now_ms)
    counters = world.queue.select(("counters",))[0]
    while not world.client.hexists(counters, "events_dropped"):
        world.engine.batch([one] * 500)

    most = 0
    for _ in range(30):
        world.publish(*[b"x"] * 1_000)
        most = max(most, int(world.client.hget(counters, "events_bytes")))

    assert most <= cap
    assert world.client.memory_usage(world.queue.select(("events",))[0], samples=0) <= cap
    world.engine.close()


def test_drops_are_counted_anew_after_a_day_without_any(redis_url: str) -> None:
    world = capped(redis_url, 100_000)
    counters = world.queue.select(("counters",))[0]

    def drop() -> PartitionLoad:
        for _ in range(4):
            world.publish(*[b"x"] * 1_000)
        return world.run(partition_load(world.queue.partition))

    first, second = drop(), drop()
    world.client.hincrby(counters, "events_dropped_at", -2 * 86_400_000)
    third, fourth = drop(), drop()

    assert first.events_dropped_lately == first.events_dropped > 0
    assert second.events_dropped_lately == second.events_dropped > first.events_dropped
    assert third.events_dropped_lately == third.events_dropped - second.events_dropped > 0
    assert fourth.events_dropped_lately == fourth.events_dropped - second.events_dropped
    world.engine.close()


def test_a_burst_of_600_000_jobs_into_one_queue_fits_the_default_without_a_drain(world: World) -> None:
    world.publish(*[b"x"] * 1_000)

    held = int(world.content().partition(world.queue.partition).counters["events_bytes"])
    assert 600 * held < EVENTS_MEMORY_MB * MEBIBYTE // PARTITIONS_DEFAULT


def test_a_cap_that_was_lowered_is_reached_in_bounded_steps(redis_url: str) -> None:
    world = capped(redis_url, 1_000_000)
    for _ in range(300):
        world.publish_one()
    lower = capped(redis_url, 2_000)

    lower.publish_one()
    assert lower.client.xlen(lower.queue.select(("events",))[0]) == 201
    for _ in range(3):
        lower.publish_one()
    assert 10 < lower.client.xlen(lower.queue.select(("events",))[0]) < 25
    world.engine.close()
    lower.engine.close()


def test_a_cap_of_0_means_no_events(redis_url: str) -> None:
    world = capped(redis_url, 0)
    world.publish_one()
    world.take_one()

    assert world.client.exists(world.queue.select(("events",))[0]) == 0
    world.engine.close()


def test_events_carry_the_redis_servers_order_across_queues(engine: Engine) -> None:
    queues = [engine.queue("shop", f"q{number}") for number in range(12)]
    for queue in queues:
        engine.run(publish(queue, [b"x"], now_ms=START_MS))

    named = [
        entry[b"q"] for queue in {queue.partition: queue for queue in queues}.values()
        for entry in entries(engine.client, queue)
    ]  # fmt: skip
    assert sorted(named) == sorted(queue.name for queue in queues)
