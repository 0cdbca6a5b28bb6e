"""Keys that a job holds as long as it is in certain states; jobs that replace each other; jobs that must not
overlap.
"""

from __future__ import annotations

from typing import Any

import pytest

from queues.engine import (
    InvalidArgumentError,
    KeyMode,
    Published,
    PublishOptions,
    StoreFullError,
    ack,
    delete_jobs,
    destroy,
    fail,
    publish,
    republish,
)
from queues.engine.operations.scan import find_key
from queues.engine.operations.workers import hold_key

from .test_expiry import sweep_all
from .world import World

KEYS = b"{tq%d}:shop/orders:keys"


def publish_unique(world: World, mode: KeyMode = KeyMode.UNTIL_DONE, **options: Any) -> Published:
    chosen = PublishOptions(**{"key": "k", "key_mode": mode, "ttl_ms": 0, **options})
    return world.run(publish(world.queue, [b"x"], chosen, now_ms=world.now_ms))


def keys_of(world: World) -> int:
    return int(world.client.hlen(KEYS % world.queue.partition))


def end(world: World, how: str, job_id: str) -> None:
    if how == "deleted":
        world.run(delete_jobs(world.queue, [job_id], now_ms=world.now_ms))
    elif how == "destroyed":
        world.run(destroy(world.queue, everything=True, now_ms=world.now_ms))
    elif how == "expired":
        world.advance(5_000)
    else:
        world.take_one()
        if how == "dead":
            world.run(fail(world.queue, job_id, dead=True, now_ms=world.now_ms))
        else:
            world.run(ack(world.queue, [job_id], now_ms=world.now_ms))


@pytest.mark.parametrize("ended", [False, True])
def test_on_a_full_redis_nothing_is_replaced_or_dropped(world: World, ended: bool) -> None:
    (job_id,) = publish_unique(world, KeyMode.REPLACE).job_ids
    if ended:
        end(world, "deleted", job_id)
    before = world.dump()
    world.client.config_set("maxmemory", 1)
    try:
        with pytest.raises(StoreFullError):
            publish_unique(world, KeyMode.REPLACE)
    finally:
        world.client.config_set("maxmemory", 0)

    assert world.dump() == before


@pytest.mark.parametrize("mode", [KeyMode.UNTIL_DONE, KeyMode.UNTIL_STARTED, KeyMode.REPLACE])
@pytest.mark.parametrize("how", ["acked", "completed", "dead", "deleted", "expired", "destroyed"])
def test_a_key_never_outlives_its_job(world: World, how: str, mode: KeyMode) -> None:
    options = {"completed": {"retention_ms": 60_000}, "expired": {"ttl_ms": 5_000}}.get(how, {})
    (job_id,) = publish_unique(world, mode, **options).job_ids
    end(world, how, job_id)

    second = publish_unique(world, mode)

    assert not second.duplicate
    assert second.job_ids != (job_id,)
    assert second.job_ids[0] in world.places()


def test_until_done_holds_while_the_job_waits_runs_and_waits_again(world: World) -> None:
    first = publish_unique(world, tries=3)

    def is_held() -> bool:
        again = publish_unique(world)
        assert again.job_ids == first.job_ids or not again.duplicate
        return again.duplicate

    assert is_held()
    world.take_one()
    assert is_held()
    world.run(fail(world.queue, first.job_ids[0], delay_ms=1_000, now_ms=world.now_ms))
    assert is_held()
    assert len(world.places()) == 1


def test_until_started_lets_the_next_one_in_when_it_is_handed_out(world: World) -> None:
    first = publish_unique(world, KeyMode.UNTIL_STARTED, tries=3)
    assert publish_unique(world, KeyMode.UNTIL_STARTED).job_ids == first.job_ids
    world.take_one()
    second = publish_unique(world, KeyMode.UNTIL_STARTED)
    assert not second.duplicate
    world.run(fail(world.queue, first.job_ids[0], delay_ms=0, now_ms=world.now_ms))

    assert publish_unique(world, KeyMode.UNTIL_STARTED).job_ids == second.job_ids, "the first had begun"


def test_a_bound_ends_the_hold_before_the_job_does(world: World) -> None:
    publish_unique(world, key_ttl_ms=1_000)
    world.advance(999)
    assert publish_unique(world, key_ttl_ms=1_000).duplicate
    world.advance(1)
    assert not publish_unique(world, key_ttl_ms=1_000).duplicate


def test_the_newest_job_takes_the_place_of_the_one_that_waits(world: World) -> None:
    first = publish_unique(world, KeyMode.REPLACE, delay_ms=1_000)
    world.advance(900)
    second = publish_unique(world, KeyMode.REPLACE, delay_ms=1_000)

    assert not second.duplicate
    assert world.places() == {second.job_ids[0]: "delayed"}
    assert first.job_ids != second.job_ids
    world.advance(999)
    assert world.take() == ()
    world.advance(1)
    assert world.take_one().job_id == second.job_ids[0]
    assert not publish_unique(world, KeyMode.REPLACE).duplicate, "the one that runs is left alone"
    assert len(world.places()) == 2


def test_jobs_that_replace_each_other_wait_no_longer_than_their_bound(world: World) -> None:
    publish_unique(world, KeyMode.REPLACE, delay_ms=1_000, key_max_wait_ms=2_500)
    for _ in range(3):
        world.advance(800)
        publish_unique(world, KeyMode.REPLACE, delay_ms=1_000, key_max_wait_ms=2_500)
    assert len(world.places()) == 1
    world.advance(99)
    assert world.take() == ()
    world.advance(1)
    world.take_one()

    (job_id,) = publish_unique(world, KeyMode.REPLACE, delay_ms=1_000, key_max_wait_ms=2_500).job_ids
    world.advance(999)
    assert world.take() == (), "a new series has begun"
    assert world.take_one_after(1).job_id == job_id


def test_a_replacement_that_is_refused_leaves_what_there_was(world: World) -> None:
    first = publish_unique(world, KeyMode.REPLACE, delay_ms=1_000)
    with pytest.raises(InvalidArgumentError, match="ttl is shorter than delay"):
        publish_unique(world, KeyMode.REPLACE, delay_ms=1_000, ttl_ms=500)

    assert world.places() == {first.job_ids[0]: "delayed"}
    assert publish_unique(world, KeyMode.UNTIL_DONE).job_ids == first.job_ids


def test_keys_of_jobs_that_are_gone_are_swept(world: World) -> None:
    for number in range(10):
        (job_id,) = publish_unique(world, key=f"k{number}").job_ids
        if number < 9:
            end(world, "deleted", job_id)
    world.advance(600_000)
    sweep_all(world)
    assert keys_of(world) == 1
    end(world, "deleted", job_id)
    world.advance(600_000)
    sweep_all(world)

    assert world.dump() == {} or keys_of(world) == 0


@pytest.mark.parametrize("how", ["completed", "dead"])
def test_a_key_leads_to_its_job_until_that_is_gone(world: World, how: str) -> None:
    options = {"retention_ms": 60_000} if how == "completed" else {}
    (job_id,) = publish_unique(world, KeyMode.UNTIL_DONE, **options).job_ids
    assert world.run(find_key(world.queue, "k")) == job_id
    assert world.run(find_key(world.queue, "other")) is None
    end(world, how, job_id)
    world.advance(59_000)
    sweep_all(world)
    assert world.run(find_key(world.queue, "k")) == job_id

    world.run(delete_jobs(world.queue, [job_id], now_ms=world.now_ms))

    assert world.run(find_key(world.queue, "k")) is None


def test_two_jobs_that_are_worked_on_never_hold_one_key(world: World) -> None:
    first, second = world.publish(b"1", b"2")

    def hold(job_id: str) -> str | None:
        return world.run(hold_key(world.queue, "overlap:k", job_id, now_ms=world.now_ms))

    world.take(count=2)
    assert hold(first) is None
    assert hold(first) is None
    assert hold(second) == first
    world.run(ack(world.queue, [first], now_ms=world.now_ms))
    assert hold(second) is None
    world.run(ack(world.queue, [second], now_ms=world.now_ms))
    world.advance(600_000)
    sweep_all(world)
    assert keys_of(world) == 0


def test_no_publish_can_name_a_key_as_a_held_one_is_stored(world: World) -> None:
    (job_id,) = world.publish(b"1")
    world.take_one()
    world.run(hold_key(world.queue, "k", job_id, now_ms=world.now_ms))
    (stored,) = world.client.hkeys(KEYS % world.queue.partition)

    with pytest.raises(InvalidArgumentError):
        publish_unique(world, key=stored.decode())


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"key": None}, "key_mode without key"),
        ({"key_max_wait_ms": 5}, "invalid key_max_wait"),
        ({"key_max_wait_ms": -1, "key_mode": KeyMode.REPLACE}, "invalid key_max_wait"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(world: World, options: dict[str, Any], wrong: str) -> None:
    with pytest.raises(InvalidArgumentError, match=wrong):
        publish_unique(world, **options)
    with pytest.raises(InvalidArgumentError, match="no key_mode"):
        republish(world.queue, "x", b"x", PublishOptions(key="k", key_mode=KeyMode.UNTIL_DONE))
