"""A consume of many jobs with limit keys delivers what as many calls for one job would (consume_with_limits.lua)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from queues.engine import ConsumeLimits, ack, delete_jobs, destroy, free_deleted

from .world import World


def publish_for(world: World, key: str, count: int, **options: Any) -> tuple[str, ...]:
    """Ids of new jobs of a key, whose bodies name it."""
    return world.publish(*[key.encode()] * count, limit_key=key, **options)


def bodies(world: World, count: int, **options: Any) -> list[str]:
    """What is delivered, in order."""
    return [job.body.decode() for job in world.take(count, **options)]


def names(count: int) -> list[str]:
    """Keys, in order."""
    return [f"k{number:02}" for number in range(count)]


@pytest.mark.parametrize("jobs_of_a_key", [2, 30], ids=["short lines", "long lines"])
def test_a_key_at_its_limit_in_the_middle_of_a_batch_is_left_out(world: World, jobs_of_a_key: int) -> None:
    limits = ConsumeLimits(key_in_flight=1)
    publish_for(world, "k07", jobs_of_a_key)
    (held,) = world.take(queue_limits=limits)
    for key in names(20):
        publish_for(world, key, jobs_of_a_key)
    assert bodies(world, 100, queue_limits=limits) == [key for key in names(20) if key != "k07"]
    world.run(ack(world.queue, [held.job_id], now_ms=world.now_ms))
    assert bodies(world, 100, queue_limits=limits) == ["k07"]


def test_a_weight_gives_a_key_no_more_than_its_limit_in_a_batch(world: World) -> None:
    limits = ConsumeLimits(key_in_flight=3, weights=(("k01", 10),))
    for key in names(8):
        publish_for(world, key, 5)
    assert Counter(bodies(world, 12, queue_limits=limits)) == {key: 3 if key == "k01" else 1 for key in names(8)} | {
        "k00": 2,
        "k02": 2,
    }
    assert Counter(bodies(world, 40, queue_limits=limits)) + Counter({"k01": 3, "k00": 2, "k02": 2}) + Counter(
        dict.fromkeys(names(8)[3:], 1)
    ) == dict.fromkeys(names(8), 3)


def test_keys_that_were_not_looked_at_yet_come_before_second_turns(world: World) -> None:
    limits = ConsumeLimits(key_in_flight=3, weights=(("a", 1_000), ("b", 1_000)))
    for key in ("a", "b", *names(60)):
        publish_for(world, key, 4)
    assert Counter(bodies(world, 66, queue_limits=limits)) == {"a": 3, "b": 3} | dict.fromkeys(names(60), 1)
    assert bodies(world, 16, queue_limits=limits) == names(16), "a and b, which come first, are at their limit"


@pytest.mark.parametrize("jobs_of_a_key", [2, 5], ids=["short lines", "long lines"])
def test_expired_jobs_among_a_batch_are_stepped_over(world: World, jobs_of_a_key: int) -> None:
    limits = ConsumeLimits(key_rate=100, key_burst=9, key_in_flight=9)
    dying = names(30)[::3]
    for key in names(30):
        publish_for(world, key, 1, **({"ttl_ms": 1_000} if key in dying else {}))
        publish_for(world, key, jobs_of_a_key - 1)
    world.advance(1_000)
    expected = {key: jobs_of_a_key - (key in dying) for key in names(30)}
    got: list[str] = []
    while batch := bodies(world, 70, queue_limits=limits):
        got += batch
    assert Counter(got) == expected
    state = world.state()
    assert not state.lines
    assert {key: state.shares[key][0] for key in expected} == expected


def test_a_batch_is_what_as_many_calls_for_one_deliver(world: World) -> None:
    limits = ConsumeLimits(weights=(("k03", 4), ("k11", 2)), key_in_flight=5)

    def fill() -> None:
        for place, key in enumerate(names(25)):
            publish_for(world, key, 1 + place % 4)
            if place % 5 == 0:
                publish_for(world, key, 1, priority=9)
        publish_for(world, "k03", 9)
        world.publish(*[b"-"] * 7)
        world.publish(b"first", priority=5)

    fill()
    one_by_one = [body for _ in range(90) for body in bodies(world, 1, queue_limits=limits)]
    world.run(destroy(world.queue, everything=True))
    while world.run(free_deleted(world.engine.layout)).more:
        pass
    fill()
    assert bodies(world, 90, queue_limits=limits) == one_by_one
    assert len(one_by_one) > 70


def test_jobs_that_have_left_their_lines_are_no_part_of_a_batch(world: World) -> None:
    ids = {key: publish_for(world, key, 3) for key in names(20)}
    world.run(delete_jobs(world.queue, [ids["k04"][0], *ids["k05"], ids["k06"][2]], now_ms=world.now_ms))
    lines, turns = world.queue.select(("lines", "turns"))
    world.client.zrem(lines, *[member for member in world.client.zrange(lines, 0, -1) if member.startswith(b"k08")])
    got = Counter(bodies(world, 100))
    assert got == {key: 3 for key in names(20) if key not in ("k05", "k08")} | {"k04": 2, "k06": 2}
    assert world.client.zrangebyscore(turns, 0, "+inf") == []
