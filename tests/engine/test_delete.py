"""Edge M: delete ends a job in any state; republish puts another in its place."""

from __future__ import annotations

import pytest

from queues.engine import (
    InvalidArgumentError,
    JobState,
    LeaseLostError,
    PublishOptions,
    ack_attempt,
    delete_jobs,
    detail,
    flush_due,
    relay,
    republish,
)

from .test_ack import UNKNOWN
from .world import START_MS, STATES, World, plain


@pytest.mark.parametrize("place", STATES)
def test_a_job_can_be_deleted_in_every_state_and_leaves_nothing(world: World, place: str) -> None:
    job_id = world.job_in(place, attributes={"a": "b"})

    assert world.run(delete_jobs(world.queue, [job_id], now_ms=world.now_ms)) == 1

    assert world.places() == {}
    world.run(relay(world.engine.layout, now_ms=world.now_ms))
    world.run(flush_due(world.engine.layout, now_ms=world.now_ms + 600_000))  # drops what is left of a member's group
    kinds = {key.rpartition(b":")[2] for key in world.dump()}
    assert kinds <= {b"meta", b"events", b"counters", b"stats", b"active", b"flags", b"sweeps"}


@pytest.mark.parametrize("place", STATES)
def test_deleting_one_job_leaves_the_others(world: World, place: str) -> None:
    job_id = world.job_in(place)
    other = world.publish_one(delay_ms=5)

    world.run(delete_jobs(world.queue, [job_id, UNKNOWN, job_id], now_ms=world.now_ms))

    assert world.places() == {other: "delayed"}


@pytest.mark.parametrize("place", STATES)
def test_a_deletion_bound_to_a_state_spares_jobs_in_another(world: World, place: str) -> None:
    job_id, state = world.job_in(place), JobState(plain(place))

    for other in set(JobState) - {state}:
        assert world.run(delete_jobs(world.queue, [job_id], only=other, now_ms=world.now_ms)) == 0, other
        assert world.places() == {job_id: state}, other
    assert world.run(delete_jobs(world.queue, [job_id], only=state, now_ms=world.now_ms)) == 1
    assert world.places() == {}


def test_a_job_deleted_under_its_holder_cannot_be_acked_and_is_not_handed_out_again(world: World) -> None:
    job_id = world.job_in("working")
    world.run(delete_jobs(world.queue, [job_id], now_ms=world.now_ms))

    with pytest.raises(LeaseLostError):
        world.run(ack_attempt(world.queue, job_id, attempt=1, now_ms=world.now_ms))
    assert world.take() == ()


def test_deleting_ready_jobs_anywhere_in_the_line_keeps_order_and_count(world: World) -> None:
    ids = world.publish(*[b"%d" % number for number in range(60)])

    world.run(delete_jobs(world.queue, [*ids[50:], *ids[10:20], ids[0]], now_ms=world.now_ms))

    left = [*ids[1:10], *ids[20:50]]
    assert world.places() == dict.fromkeys(left, "ready")
    assert [job.job_id for job in world.take(count=100)] == left
    assert world.state().ready == []


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_consumer_that_comes_across_one_tombstone_steps_over_it(world: World, count: int) -> None:
    ids = world.publish(*[b"%d" % number for number in range(10)])
    world.run(delete_jobs(world.queue, [ids[1]], now_ms=world.now_ms))

    taken: list[str] = []
    for _ in range(3):
        taken += [job.job_id for job in world.take(count=count)]
        world.state()

    assert taken == [ids[0], *ids[2:]][: 3 * count]


def test_deleting_all_ready_jobs_drops_the_line_with_its_tombstones(world: World) -> None:
    ids = world.publish(*[b"x"] * 30)
    world.run(delete_jobs(world.queue, ids[::-1], now_ms=world.now_ms))

    assert world.state().ready == []


@pytest.mark.parametrize("place", STATES)
def test_republish_puts_a_new_job_in_the_place_of_the_old(world: World, place: str) -> None:
    old = world.job_in(place)
    world.advance(7)

    published = world.run(
        republish(world.queue, old, b"new", PublishOptions(delay_ms=50, tries=4), now_ms=world.now_ms)
    )

    (new,) = published.job_ids
    assert world.places() == {new: "delayed"}
    assert world.state().delayed == {new: START_MS + 57}
    found = world.run(detail(world.queue, new, now_ms=world.now_ms))
    assert found is not None
    assert (found.body, found.tries, found.attempt) == (b"new", 4, 0)


def test_republish_of_an_unknown_job_publishes(world: World) -> None:
    (new,) = world.run(republish(world.queue, UNKNOWN, b"new", now_ms=world.now_ms)).job_ids

    assert world.places() == {new: "ready"}


def test_a_republish_that_is_refused_leaves_the_old_job(world: World) -> None:
    old = world.job_in("working")
    holder = world.publish_one(key="k")
    before = world.dump()

    duplicate = world.run(republish(world.queue, old, b"new", PublishOptions(key="k"), now_ms=world.now_ms))
    with pytest.raises(InvalidArgumentError, match="ttl is shorter than delay"):
        world.run(republish(world.queue, old, b"new", PublishOptions(ttl_ms=1, delay_ms=2), now_ms=world.now_ms))

    assert (duplicate.duplicate, duplicate.job_ids) == (True, (holder,))
    assert world.dump() == before
