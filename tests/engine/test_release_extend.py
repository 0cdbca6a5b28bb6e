"""Edge K: release gives a job back. Extend: a new lease, no change of state."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from queues.engine import (
    InvalidArgumentError,
    JobNotFoundError,
    LeaseLostError,
    QueueKeys,
    ack_attempt,
    extend,
    fail,
    release,
)

from .test_ack import UNKNOWN
from .world import START_MS, STATES, World

Verb = Callable[..., Any]


def _extend(queue: QueueKeys, job_id: str, **options: Any) -> Any:
    return extend(queue, job_id, ttr_ms=5_000, **options)


@pytest.mark.parametrize("priority", [0, 4, -4])
def test_a_released_job_goes_to_the_head_of_its_priority(world: World, priority: int) -> None:
    first, second = world.publish(b"1", b"2", priority=priority)
    world.take_one()
    world.advance(10)

    world.run(release(world.queue, first, attempt=1, now_ms=world.now_ms))

    assert world.places() == {first: "ready", second: "ready"}
    assert [job.job_id for job in world.take(count=2)] == [first, second]


def test_a_released_job_has_not_burned_a_try(world: World) -> None:
    job_id = world.publish_one(tries=2)

    for _ in range(5):
        assert world.take_one().remain_tries == 1
        world.run(release(world.queue, job_id, now_ms=world.now_ms))

    assert world.take_one().remain_tries == 1
    assert world.state().runs[job_id].history == ()


def test_who_released_a_job_cannot_end_the_attempt_of_the_next_holder(world: World) -> None:
    job_id = world.publish_one(tries=2)
    first = world.take_one()
    world.run(release(world.queue, job_id, attempt=first.attempt, now_ms=world.now_ms))
    second = world.take_one()

    assert second.attempt == first.attempt + 1
    verbs: tuple[Verb, ...] = (release, fail, ack_attempt)
    for verb in verbs:
        with pytest.raises(LeaseLostError):
            world.run(verb(world.queue, job_id, attempt=first.attempt, now_ms=world.now_ms))
    assert world.places() == {job_id: "working"}


def test_releasing_a_frozen_attempt_gives_no_try_back(world: World) -> None:
    job_id = world.publish_one(tries=1)

    for _ in range(3):
        assert world.take_one(freeze_tries=True).remain_tries == 1
        world.run(release(world.queue, job_id, now_ms=world.now_ms))

    assert world.take_one().remain_tries == 0


def test_a_job_can_be_released_until_later(world: World) -> None:
    job_id = world.job_in("working")
    world.advance(3)

    world.run(release(world.queue, job_id, delay_ms=1_000, now_ms=world.now_ms))

    assert world.places() == {job_id: "delayed"}
    assert world.state().delayed == {job_id: START_MS + 1_003}
    world.advance(1_000)
    assert world.take_one().job_id == job_id


def test_extend_gives_a_lease_that_begins_now(world: World) -> None:
    job_id = world.job_in("working")
    world.advance(500)

    assert world.run(extend(world.queue, job_id, attempt=1, ttr_ms=5_000, now_ms=world.now_ms)) == START_MS + 5_500

    assert world.places() == {job_id: "working"}
    assert world.state().working == {job_id: START_MS + 5_500}


@pytest.mark.parametrize("place", [place for place in STATES if place != "working"])
def test_a_job_that_nobody_holds_is_left_as_it_is(world: World, place: str) -> None:
    verbs: list[Verb] = [release, _extend]
    job_id = world.job_in(place)
    before = world.dump()

    for verb, attempt in product(verbs, (None, 1)):
        with pytest.raises(LeaseLostError, match=job_id):
            world.run(verb(world.queue, job_id, attempt=attempt, now_ms=world.now_ms))

        assert world.dump() == before, (verb, attempt)


@pytest.mark.parametrize("verb", [release, _extend])
@pytest.mark.parametrize("attempt", [0, 2])
def test_another_attempt_than_the_holder_changes_nothing(world: World, verb: Verb, attempt: int) -> None:
    job_id = world.job_in("working")
    before = world.dump()

    with pytest.raises(LeaseLostError):
        world.run(verb(world.queue, job_id, attempt=attempt, now_ms=world.now_ms))

    assert world.dump() == before


def test_an_unknown_job_is_told_as_such(world: World) -> None:
    with pytest.raises(JobNotFoundError):
        world.run(release(world.queue, UNKNOWN))
    with pytest.raises(LeaseLostError):
        world.run(extend(world.queue, UNKNOWN, ttr_ms=1))


@pytest.mark.parametrize("number", [-1, 2**32 * 1000])
def test_times_out_of_range_are_refused(world: World, number: int) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid delay"):
        release(world.queue, UNKNOWN, delay_ms=number)
    with pytest.raises(InvalidArgumentError, match="invalid ttr"):
        extend(world.queue, UNKNOWN, ttr_ms=number)
    with pytest.raises(InvalidArgumentError, match="invalid ttr"):
        extend(world.queue, UNKNOWN, ttr_ms=0)
