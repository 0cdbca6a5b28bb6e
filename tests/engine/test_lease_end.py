"""Edge I: a lease that ran out brings the job back, or buries it."""

from __future__ import annotations

import pytest

from queues.engine import Counts, extend, parse_backoff, reclaim_ended
from queues.engine.constants import RECLAIM_BATCH

from .world import START_MS, World


def reclaim(world: World) -> Counts:
    return world.run(reclaim_ended(world.engine.layout, now_ms=world.now_ms))


def test_nothing_is_taken_back_before_the_lease_ends(world: World) -> None:
    world.publish_one()
    world.take_one(ttr_ms=1_000)
    world.advance(999)

    assert not world.changes(lambda: reclaim(world))


def test_with_tries_left_the_job_is_ready_again(world: World) -> None:
    job_id = world.publish_one(tries=2)
    world.take_one(ttr_ms=1_000, consumer="w")
    world.advance(1_000)

    assert reclaim(world) == Counts(queues=1, jobs=1)

    assert world.places() == {job_id: "ready"}
    (past,) = world.state().runs[job_id].history
    assert (past.attempt, past.outcome, past.consumer, past.error) == (1, "lease_lost", "w", "")
    assert (past.taken_ms, past.ended_ms) == (START_MS, START_MS + 1_000)
    assert world.take_one().attempt == 2


def test_with_a_backoff_the_job_waits_in_retry(world: World) -> None:
    job_id = world.publish_one(tries=2, backoff=parse_backoff("fixed:3"))
    world.take_one(ttr_ms=1_000)
    world.advance(1_200)

    reclaim(world)

    assert world.places() == {job_id: "retry"}
    assert world.state().retry == {job_id: START_MS + 4_200}


def test_without_tries_left_the_job_is_dead(world: World) -> None:
    job_id = world.publish_one(tries=1)
    world.take_one(ttr_ms=1_000)
    world.advance(1_000)

    assert reclaim(world) == Counts(queues=1, jobs=1, dead=1)

    assert world.places() == {job_id: "dead"}
    assert world.state().dead == {job_id: START_MS + 1_000}


def test_an_extended_lease_is_kept(world: World) -> None:
    job_id = world.publish_one()
    world.take_one(ttr_ms=1_000)
    world.run(extend(world.queue, job_id, ttr_ms=5_000, now_ms=world.now_ms))
    world.advance(4_999)

    assert reclaim(world).jobs == 0
    assert world.places() == {job_id: "working"}
    world.advance(1)
    assert reclaim(world).jobs == 1


def test_a_shortened_lease_ends_early(world: World) -> None:
    job_id = world.publish_one(tries=2)
    world.take_one(ttr_ms=60_000)
    world.run(extend(world.queue, job_id, ttr_ms=10, now_ms=world.now_ms))
    world.advance(10)

    assert reclaim(world).jobs == 1


def test_a_tick_is_bounded_and_says_that_there_is_more(world: World) -> None:
    world.publish(*[b"x"] * (RECLAIM_BATCH + 5), tries=2)
    world.take(count=RECLAIM_BATCH + 5, ttr_ms=1_000)
    world.advance(1_000)

    assert reclaim(world) == Counts(queues=1, jobs=RECLAIM_BATCH, more=True)
    assert reclaim(world) == Counts(queues=1, jobs=5)
    assert not world.changes(lambda: reclaim(world))


@pytest.mark.parametrize("priority", [6, -6])
def test_the_job_comes_back_with_its_priority(world: World, priority: int) -> None:
    world.publish_one(tries=2, priority=priority)
    world.take_one(ttr_ms=1_000)
    world.advance(1_000)
    reclaim(world)
    normal = world.publish_one()

    order = [job.job_id for job in world.take(count=2)]

    assert (order[0] == normal) == (priority < 0)


def test_a_completed_job_is_dropped_when_its_retention_ends(world: World) -> None:
    job_id = world.job_in("completed", retention_ms=2_000)
    world.advance(1_999)
    assert reclaim(world).jobs == 0
    assert world.places() == {job_id: "completed"}
    world.advance(1)

    assert reclaim(world).jobs == 1

    assert world.places() == {}


@pytest.mark.parametrize(("retention_ms", "ttr_ms"), [(300, 900), (900, 300)])
def test_the_index_holds_the_earlier_of_leases_and_retentions(world: World, retention_ms: int, ttr_ms: int) -> None:
    world.job_in("completed", retention_ms=retention_ms)
    for ttr in (ttr_ms, 10):
        world.publish_one(tries=9)
        world.take_one(ttr_ms=ttr)
    world.advance(10)

    reclaim(world)

    assert world.content().partition(world.queue.partition).ends == {"shop/orders": START_MS + 300}


def test_leases_and_retentions_share_their_index_without_loss(world: World) -> None:
    completed = world.job_in("completed", retention_ms=5_000)
    working = world.publish_one(tries=2)
    world.take_one(ttr_ms=9_000)

    world.advance(5_000)
    reclaim(world)
    assert world.places() == {working: "working"}
    world.advance(4_000)
    reclaim(world)
    assert world.places() == {working: "ready"}
    assert completed not in world.state().runs
