"""Higher priority first; within one, first in first out."""

from __future__ import annotations

import random

import pytest

from queues.engine import peek, release

from .world import World


def test_priorities_go_from_high_to_low(world: World) -> None:
    chance = random.Random(5)
    wanted = list(range(-100, 101))
    for priority in chance.sample(wanted, k=len(wanted)):
        world.publish_one(b"%d" % priority, priority=priority)

    assert [int(job.body) for job in world.take(count=1_000)] == wanted[::-1]


@pytest.mark.parametrize("priority", [100, 1, 0, -1, -100])
@pytest.mark.parametrize("apart_ms", [0, 1])
def test_within_a_priority_jobs_keep_their_order(world: World, priority: int, apart_ms: int) -> None:
    ids: list[str] = []
    for _ in range(30):
        ids += world.publish(b"x", b"x", priority=priority)
        world.advance(apart_ms)

    assert [job.job_id for job in world.take(count=1_000)] == ids


@pytest.mark.parametrize("delay_ms", [0, 1_000])
def test_jobs_with_a_priority_take_few_commands_to_publish(world: World, delay_ms: int) -> None:
    """A call for a thousand would keep Redis for three times as long."""
    world.publish_one(priority=7)
    world.client.config_resetstat()

    world.publish(*[b"x"] * 200, priority=7, delay_ms=delay_ms)

    commands = world.client.info("commandstats")
    assert all(stats["calls"] < 20 for stats in commands.values())


@pytest.mark.parametrize("priority", [7, -7])
def test_jobs_with_a_priority_take_few_commands_to_consume(world: World, priority: int) -> None:
    world.publish(*[b"x"] * 300, priority=priority)
    world.client.config_resetstat()

    assert len(world.take(count=200)) == 200

    commands = world.client.info("commandstats")
    assert all(stats["calls"] < 20 for stats in commands.values())


@pytest.mark.parametrize("priority", [7, 0, -7])
def test_huge_jobs_that_do_not_fit_keep_their_order(world: World, priority: int) -> None:
    sizes = [900_000, 900_000, 900_000, 10, 900_000, 900_000, 20]
    ids = [world.publish_one(b"x" * size, priority=priority) for size in sizes]
    low = world.publish_one(b"low", priority=-50)

    taken: list[str] = []
    while len(taken) < len(ids):
        part = world.take(count=10)
        assert 0 < len(part) < len(ids)
        taken += [job.job_id for job in part]
        world.state()

    assert taken[: len(ids)] == ids
    assert low in {*taken, *world.places()}


@pytest.mark.parametrize("priority", [3, 0, -3])
def test_a_job_that_arrives_after_a_long_time_is_still_in_its_priority(world: World, priority: int) -> None:
    world.now_ms += 2**42
    last = world.publish_one(priority=priority, ttl_ms=0)
    world.now_ms -= 2**42
    above = world.publish_one(priority=priority + 1, ttl_ms=0)
    below = world.publish_one(priority=priority - 1, ttl_ms=0)

    assert [job.job_id for job in world.take(count=3)] == [above, last, below]


@pytest.mark.parametrize("count", [1, 2, 9])
def test_each_consume_takes_the_best_of_both_lines(world: World, count: int) -> None:
    for priority in (0, -1, 5, 0, 5, -1, 9):
        world.publish_one(b"%d" % priority, priority=priority)

    taken = []
    while jobs := world.take(count=count):
        taken += [int(job.body) for job in jobs]

    assert taken == [9, 5, 5, 0, 0, -1, -1]


def test_peek_shows_what_consume_will_take(world: World) -> None:
    for priority in (-2, 0, 7, 0, -100, 100):
        world.publish_one(priority=priority)

    for _ in range(6):
        shown = world.run(peek(world.queue, now_ms=world.now_ms))
        assert shown is not None
        assert shown.job_id == world.take_one().job_id
    assert world.run(peek(world.queue, now_ms=world.now_ms)) is None


def test_a_released_job_with_a_priority_stays_behind_a_higher_one(world: World) -> None:
    low = world.publish_one(priority=2)
    world.take_one()
    high = world.publish_one(priority=3)
    world.run(release(world.queue, low, now_ms=world.now_ms))

    assert [job.job_id for job in world.take(count=2)] == [high, low]


def test_the_last_released_comes_first(world: World) -> None:
    for priority in (0, 8):
        ids = world.publish(b"1", b"2", b"3", priority=priority)
        world.take(count=3)
        for job_id in ids:
            world.run(release(world.queue, job_id, now_ms=world.now_ms))
        assert [job.job_id for job in world.take(count=3)] == list(ids[::-1])
