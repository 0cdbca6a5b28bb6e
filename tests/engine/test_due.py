"""Edges E and J: due jobs become ready, not a millisecond earlier."""

from __future__ import annotations

import pytest

from queues.engine import Counts, fail, promote_due
from queues.engine.constants import PROMOTE_BATCH

from .world import START_MS, World


def test_nothing_is_promoted_before_it_is_due(world: World) -> None:
    world.publish_one(delay_ms=100)
    world.job_in("retry")
    world.advance(99)

    assert not world.changes(lambda: world.run(promote_due(world.engine.layout, now_ms=world.now_ms)))


def test_due_jobs_become_ready_in_the_order_of_their_due_times(world: World) -> None:
    retry = world.publish_one(b"retry", tries=2)
    world.take_one()
    world.run(fail(world.queue, retry, delay_ms=20, now_ms=world.now_ms))
    late = world.publish_one(b"late", delay_ms=30)
    early = world.publish_one(b"early", delay_ms=10)
    waits = world.publish_one(b"waits", delay_ms=31)
    world.advance(30)

    counts = world.run(promote_due(world.engine.layout, now_ms=world.now_ms))

    assert counts == Counts(queues=1, jobs=3)
    assert world.state().ready == [early, retry, late]
    assert world.places()[waits] == "delayed"
    assert world.content().partition(world.queue.partition).due == {"shop/orders": START_MS + 31}


def test_promoted_jobs_keep_their_priority(world: World) -> None:
    low = world.publish_one(delay_ms=10, priority=-5)
    high = world.publish_one(delay_ms=20, priority=5)
    normal = world.publish_one(delay_ms=30)
    world.advance(30)

    world.run(promote_due(world.engine.layout, now_ms=world.now_ms))

    assert set(world.state().prio) == {low, high}
    assert [job.job_id for job in world.take(count=3)] == [high, normal, low]


def test_jobs_that_become_due_together_are_ready_in_the_order_they_were_published(world: World) -> None:
    ids = world.publish(*[b"x"] * 20, delay_ms=10)
    world.advance(10)

    world.run(promote_due(world.engine.layout, now_ms=world.now_ms))

    assert world.state().ready == list(ids)


def test_a_tick_is_bounded_and_says_that_there_is_more(world: World) -> None:
    world.publish(*[b"x"] * PROMOTE_BATCH, delay_ms=10)
    world.publish(*[b"x"] * 3, delay_ms=11)
    world.advance(50)

    assert world.run(promote_due(world.engine.layout, now_ms=world.now_ms)) == Counts(
        queues=1, jobs=PROMOTE_BATCH, more=True
    )
    assert world.run(promote_due(world.engine.layout, now_ms=world.now_ms)) == Counts(queues=1, jobs=3)
    assert not world.changes(lambda: world.run(promote_due(world.engine.layout, now_ms=world.now_ms)))


def test_the_cost_follows_the_due_queues_not_the_idle_ones(world: World) -> None:
    for number in range(30):
        World(world.engine, world.engine.queue("idle", f"q{number}")).publish_one(delay_ms=10_000)
    world.publish_one(delay_ms=10)
    world.advance(10)

    assert world.run(promote_due(world.engine.layout, now_ms=world.now_ms)) == Counts(queues=1, jobs=1)


def test_an_index_that_is_too_early_is_corrected(world: World) -> None:
    world.publish_one(delay_ms=10)
    world.publish_one(delay_ms=900)
    world.advance(10)
    world.take_one()
    world.client.zadd(f"{{tq{world.queue.partition}}}:due", {"shop/orders": START_MS})

    world.run(promote_due(world.engine.layout, now_ms=world.now_ms))

    assert world.content().partition(world.queue.partition).due == {"shop/orders": START_MS + 900}


@pytest.mark.parametrize(("retry_ms", "delay_ms"), [(300, 900), (900, 300)])
def test_after_a_promotion_the_index_holds_the_earlier_of_delayed_and_retry(
    world: World, retry_ms: int, delay_ms: int
) -> None:
    failing = world.publish_one(tries=2)
    world.take_one()
    world.run(fail(world.queue, failing, delay_ms=retry_ms, now_ms=world.now_ms))
    world.publish_one(delay_ms=delay_ms)
    world.publish_one(delay_ms=10)
    world.advance(10)

    world.run(promote_due(world.engine.layout, now_ms=world.now_ms))

    assert world.content().partition(world.queue.partition).due == {"shop/orders": START_MS + 300}


@pytest.mark.parametrize("place", ["delayed", "retry"])
def test_two_pumps_at_once_promote_once(world: World, place: str) -> None:
    job_id = world.job_in(place)
    world.advance(30_000)

    for _ in range(2):
        world.run(promote_due(world.engine.layout, now_ms=world.now_ms))

    assert world.state().ready == [job_id]
