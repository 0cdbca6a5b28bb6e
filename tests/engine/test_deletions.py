"""What a deleted queue held is freed in small steps, by any number of pumps, whatever is killed meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from queues.embedded import EmbeddedRedis
from queues.engine import (
    DEFAULT_OPTIONS,
    Engine,
    PublishOptions,
    destroy,
    free_deleted,
    open_engine,
    publish,
    publish_large,
)
from queues.engine.constants import BODY_MAX_BYTES, DELETE_BATCH, FREE_BUDGET_BYTES

from .test_publish_large import go_on
from .world import STATES, World


def deleted_keys(client: Any) -> list[bytes]:
    return sorted(client.scan_iter("*:deleted:*", count=1_000))


def free_all(engine: Engine) -> int:
    """Steps until nothing is left."""
    steps = 1
    while engine.run(free_deleted(engine.layout)).more:
        steps += 1
        assert steps < 1_000, "freeing does not come to an end"
    return steps


def test_what_a_deleted_queue_held_in_any_state_is_freed(world: World) -> None:
    for place in sorted(STATES, key=lambda place: place.startswith("ready")):  # what is taken must be alone there
        world.job_in(place)
    for number in range(2 * DELETE_BATCH + 20):  # too many for a hash that is scanned as a whole
        world.publish(key=f"key {number}")
    world.run(destroy(world.queue, everything=True, now_ms=world.now_ms))
    assert deleted_keys(world.client)
    after = world.publish_one()

    free_all(world.engine)

    assert deleted_keys(world.client) == []
    assert world.places() == {after: "ready"}


def test_a_queue_that_is_deleted_again_and_again_is_freed_as_often(world: World) -> None:
    for number in range(5):
        world.publish(*[b"x"] * (number + 1))
        assert world.run(destroy(world.queue, everything=True, now_ms=world.now_ms)) == number + 1
        assert world.places() == {}

    assert world.run(free_deleted(world.engine.layout)).jobs == 15
    free_all(world.engine)

    assert deleted_keys(world.client) == []


def test_a_step_frees_a_bounded_number_of_jobs(world: World) -> None:
    world.publish(*[b"x"] * 1_000)
    world.publish(*[b"x"] * 1_000)
    world.run(destroy(world.queue, everything=True, now_ms=world.now_ms))

    counts = world.run(free_deleted(world.engine.layout))

    assert (counts.jobs, counts.more) == (DELETE_BATCH, True)


def test_two_pumps_that_free_in_turn_free_each_job_once(world: World, redis_url: str) -> None:
    world.publish(*[b"x"] * 1_000)
    for number in range(3):
        world.publish_one(key=f"key {number}", delay_ms=1_000)
    world.run(destroy(world.queue, everything=True, now_ms=world.now_ms))
    other = open_engine(redis_url)
    try:
        freed, more = 0, True
        while more:
            counts = [engine.run(free_deleted(engine.layout)) for engine in (world.engine, other)]
            freed += sum(one.jobs for one in counts)
            more = counts[0].more
    finally:
        other.close()

    assert freed == 1_003 + 3  # jobs, and idempotency keys
    assert deleted_keys(world.client) == []


@pytest.fixture
def persistent(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    with EmbeddedRedis(tmp_path, persistent=True) as server:
        yield server


def test_freeing_goes_on_after_redis_was_killed(persistent: EmbeddedRedis) -> None:
    engine = open_engine(persistent.url, partitions=1)
    queue = engine.queue("shop", "orders")
    for number in range(3 * DELETE_BATCH):
        engine.run(publish(queue, [b"x"], PublishOptions(key=f"key {number}")))
    engine.run(destroy(queue, everything=True))
    for _ in range(4):  # all jobs, and some of the idempotency keys
        assert engine.run(free_deleted(engine.layout)).more
    assert deleted_keys(engine.client)

    persistent.kill()
    engine.close()
    persistent.start()
    engine = open_engine(persistent.url)
    try:
        free_all(engine)
        assert deleted_keys(engine.client) == []
    finally:
        engine.close()


HUGE = 24
"""So many jobs of the largest size are more than a step may free."""


@pytest.mark.parametrize("results", [False, True])
def test_a_step_frees_a_bounded_number_of_bytes(world: World, results: bool) -> None:
    """Bodies, or results of small jobs."""
    for _ in range(HUGE):
        if results:
            world.job_in("completed")
        else:
            world.publish(b"x" * BODY_MAX_BYTES)
    if results:
        (key,) = world.queue.select(("results",))
        for job_id in world.state().results:
            world.client.hset(key, job_id, b"x" * BODY_MAX_BYTES)
    world.run(destroy(world.queue, everything=True, now_ms=world.now_ms))

    freed = world.run(free_deleted(world.engine.layout)).jobs

    assert 1 <= freed <= FREE_BUDGET_BYTES // BODY_MAX_BYTES


def test_records_of_an_unfinished_publish_are_measured_too(world: World) -> None:
    """They have no runs yet."""
    plan = publish_large(world.queue, [b"x" * BODY_MAX_BYTES] * HUGE, DEFAULT_OPTIONS, now_ms=world.now_ms)
    go_on(world, plan, HUGE)
    staged, runs = world.queue.select(("staged", "runs"))
    assert (world.client.zcard(staged), world.client.exists(runs)) == (HUGE, 0)
    world.engine.run(destroy(world.queue, everything=True, now_ms=world.now_ms))

    freed = world.engine.run(free_deleted(world.engine.layout)).jobs

    assert 1 <= freed <= FREE_BUDGET_BYTES // BODY_MAX_BYTES


def calls(client: Any, command: str) -> int:
    return int(client.info("commandstats").get(f"cmdstat_{command}", {"calls": 0})["calls"])


@pytest.mark.parametrize("has_long", [False, True])
def test_lengths_are_asked_for_only_where_a_job_can_be_long(world: World, has_long: bool) -> None:
    """Asking is a command for each job."""
    world.publish(*[b"x"] * (DELETE_BATCH - 1))
    world.publish(b"x" * (BODY_MAX_BYTES if has_long else 1))
    world.run(destroy(world.queue, everything=True, now_ms=world.now_ms))
    lengths, deletions = calls(world.client, "hstrlen"), calls(world.client, "hdel")

    assert world.run(free_deleted(world.engine.layout)).jobs == DELETE_BATCH

    assert calls(world.client, "hstrlen") - lengths == (DELETE_BATCH if has_long else 0)
    assert calls(world.client, "hdel") - deletions == (2 if has_long else 1)  # records, and runs if there are any
