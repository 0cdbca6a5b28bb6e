"""A second publish with the same key is a duplicate for as long as the key is held."""

from __future__ import annotations

from typing import Any

import pytest

from queues.engine import Published, PublishOptions, ack, delete_jobs, destroy, list_queues, publish, sweep

from .test_expiry import sweep_all
from .world import START_MS, World


def publish_key(world: World, key: str = "order-7", **options: Any) -> Published:
    return world.run(publish(world.queue, [b"x"], PublishOptions(key=key, **options), now_ms=world.now_ms))


def test_a_duplicate_adds_nothing_and_names_the_first_job(world: World) -> None:
    first = publish_key(world)
    before = world.dump()

    second = publish_key(world, priority=5, delay_ms=3)

    assert (first.duplicate, second.duplicate) == (False, True)
    assert second.job_ids == first.job_ids
    assert world.dump() == before


def test_keys_belong_to_their_queue(world: World) -> None:
    publish_key(world)
    other = World(world.engine, world.engine.queue("shop", "other"))

    assert not publish_key(other).duplicate
    assert not publish_key(world, key="order-8").duplicate


def test_a_key_is_held_across_hand_out_and_ack(world: World) -> None:
    (job_id,) = publish_key(world).job_ids
    world.take_one()
    assert publish_key(world).duplicate
    world.run(ack(world.queue, [job_id], now_ms=world.now_ms))

    assert publish_key(world).job_ids == (job_id,)
    assert world.places() == {}
    assert world.run(list_queues(world.engine.layout, "shop")).names == ("orders",)


def test_a_key_is_held_across_deletion(world: World) -> None:
    (job_id,) = publish_key(world).job_ids
    world.run(delete_jobs(world.queue, [job_id], now_ms=world.now_ms))

    assert publish_key(world).duplicate


@pytest.mark.parametrize(
    ("options", "held_ms"),
    [({"ttl_ms": 5_000}, 5_000), ({"ttl_ms": 5_000, "key_ttl_ms": 90_000}, 90_000), ({"key_ttl_ms": 1}, 1)],
)
def test_a_key_is_held_for_its_own_ttl_or_else_the_jobs(world: World, options: dict[str, Any], held_ms: int) -> None:
    (first,) = publish_key(world, **options).job_ids
    world.advance(held_ms - 1)
    assert publish_key(world).job_ids == (first,)
    world.advance(1)

    again = publish_key(world)

    assert not again.duplicate
    assert world.state().keys["order-7"] == (world.now_ms + 86_400_000, again.job_ids[0])


@pytest.mark.parametrize("options", [{"ttl_ms": 0}, {"key_ttl_ms": 0}])
def test_a_key_without_an_end_is_held_for_ever(world: World, options: dict[str, Any]) -> None:
    publish_key(world, **options)
    world.advance(10**12)

    assert sweep_all(world) in (0, 1)
    assert publish_key(world).duplicate


def test_expired_keys_are_swept_and_then_the_empty_queue_is_forgotten(world: World) -> None:
    (job_id,) = publish_key(world, key_ttl_ms=9_000).job_ids
    world.run(ack(world.queue, [job_id], now_ms=world.now_ms))
    world.advance(8_999)
    sweep_all(world)
    assert world.state().keys == {"order-7": (START_MS + 9_000, job_id)}
    world.advance(1)

    sweep_all(world)

    assert world.state().keys == {}
    assert world.run(list_queues(world.engine.layout, "shop")).names == ()


def test_many_keys_are_swept_in_steps(world: World) -> None:
    for number in range(1_200):
        publish_key(world, key=f"{number}-" + "k" * 60, key_ttl_ms=1 if number % 2 else 0)
    world.advance(1)

    sweep_all(world)

    assert len(world.state().keys) == 600


def test_a_key_that_comes_while_many_are_looked_through_is_swept_in_its_time(world: World) -> None:
    """The look may have passed its place, and finds no other that is held."""
    for number in range(2_000):
        publish_key(world, key=f"old-{number}", key_ttl_ms=1)
    world.run(destroy(world.queue, now_ms=world.now_ms))
    world.advance(600_000)
    for _ in range(3):
        assert world.run(sweep(world.engine.layout, now_ms=world.now_ms)).more

    for held_ms, earliest_ms in ((9_000, 9_000), (5_000, 5_000), (7_000, 5_000)):
        publish_key(world, key=f"new-{held_ms}", key_ttl_ms=held_ms)
        flags = world.client.hgetall(b"{tq%d}:flags" % world.queue.partition)
        assert int(flags[b"k:shop/orders"].split()[2]) == world.now_ms + earliest_ms
    sweep_all(world)
    world.advance(9_000)
    sweep_all(world)

    assert world.state().keys == {}


def test_a_key_is_bytes_like_any_text(world: World) -> None:
    key = "ü {tq0}:\t" + "k" * 200

    assert publish_key(world, key=key).job_ids == publish_key(world, key=key).job_ids
    assert set(world.state().keys) == {key}


def test_destroying_the_queue_lets_go_of_its_keys(world: World) -> None:
    publish_key(world)
    world.run(destroy(world.queue, everything=True, now_ms=world.now_ms))

    assert not publish_key(world).duplicate
