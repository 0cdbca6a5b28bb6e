"""Edge G: an ack ends a job."""

from __future__ import annotations

from collections import Counter

import pytest

from queues.engine import (
    AckOutcome,
    AckResult,
    InvalidArgumentError,
    LeaseLostError,
    ResultTooLargeError,
    ack,
    ack_attempt,
    result,
)
from queues.engine.constants import BODY_MAX_BYTES

from .world import START_MS, STATES, World

UNKNOWN = "01BX5ZZKBKACTAV9WEVGEMMVRZ"


def test_an_acked_job_is_gone_and_leaves_nothing(world: World) -> None:
    job_id = world.job_in("working")

    assert world.run(ack(world.queue, [job_id], now_ms=world.now_ms)) == (AckOutcome.ACKED,)

    assert world.places() == {}
    assert world.content().partition(world.queue.partition).queues == set()


def test_an_acked_job_with_a_retention_is_completed_and_keeps_its_result(world: World) -> None:
    job_id = world.publish_one(b"in", retention_ms=8_000)
    world.take_one()
    world.advance(5)

    ended = world.run(ack_attempt(world.queue, job_id, attempt=1, result=b"out \xff", now_ms=world.now_ms))

    assert ended == AckResult(outcome=AckOutcome.ACKED, run_ms=5)
    assert world.places() == {job_id: "completed"}
    assert world.state().completed == {job_id: START_MS + 5 + 8_000}
    assert world.run(result(world.queue, job_id)).body == b"out \xff"


def test_a_result_of_a_job_without_retention_is_dropped(world: World) -> None:
    job_id = world.job_in("working")

    world.run(ack_attempt(world.queue, job_id, result=b"out", now_ms=world.now_ms))

    assert world.places() == {}


@pytest.mark.parametrize("given", [None, b""])
def test_no_result_and_an_empty_result_are_told_apart(world: World, given: bytes | None) -> None:
    job_id = world.publish_one(retention_ms=8_000)
    world.take_one()

    world.run(ack_attempt(world.queue, job_id, result=given, now_ms=world.now_ms))

    assert world.run(result(world.queue, job_id)).body == given


@pytest.mark.parametrize("place", [place for place in STATES if place not in ("working", "completed")])
def test_a_plain_ack_deletes_a_job_that_nobody_holds(world: World, place: str) -> None:
    job_id = world.job_in(place)

    assert world.run(ack(world.queue, [job_id], now_ms=world.now_ms)) == (AckOutcome.DELETED,)

    assert world.places() == {}


def test_a_repeated_ack_leaves_a_completed_job_and_its_result(world: World) -> None:
    job_id = world.job_in("completed")

    assert not world.changes(lambda: world.run(ack(world.queue, [job_id], now_ms=world.now_ms)))
    assert world.run(ack(world.queue, [job_id], now_ms=world.now_ms)) == (AckOutcome.MISSING,)
    assert world.run(result(world.queue, job_id)).body == b"done"


def test_an_ack_of_an_unknown_job_is_no_error_and_changes_nothing(world: World) -> None:
    world.job_in("working")

    assert not world.changes(lambda: world.run(ack(world.queue, [UNKNOWN], now_ms=world.now_ms)))


def test_outcomes_come_in_the_order_of_the_ids(world: World) -> None:
    working, kept = world.publish(b"1", b"2")
    world.take_one()
    completed = world.publish_one(retention_ms=1_000, priority=9)
    assert world.take_one().job_id == completed
    ids = [UNKNOWN, working, completed, kept, working, kept]

    outcomes = world.run(ack(world.queue, ids, now_ms=world.now_ms))

    assert [str(outcome) for outcome in outcomes] == ["missing", "acked", "acked", "deleted", "missing", "missing"]
    assert world.places() == {completed: "completed"}


@pytest.mark.parametrize("place", STATES)
def test_a_fenced_ack_by_an_attempt_that_does_not_hold_the_job_changes_nothing(world: World, place: str) -> None:
    job_id = world.job_in(place)
    before = world.dump()

    for attempt in (0, 2, 65_535):
        with pytest.raises(LeaseLostError, match=job_id):
            world.run(ack_attempt(world.queue, job_id, attempt=attempt, result=b"mine", now_ms=world.now_ms))

        assert world.dump() == before, attempt


def test_a_fenced_ack_of_an_unknown_job_is_a_lost_lease(world: World) -> None:
    with pytest.raises(LeaseLostError):
        world.run(ack_attempt(world.queue, UNKNOWN, attempt=1))


def test_the_holder_of_a_lease_that_ran_out_but_was_not_taken_back_may_still_ack(world: World) -> None:
    job_id = world.job_in("working")
    world.advance(10**9)

    assert world.run(ack_attempt(world.queue, job_id, attempt=1, now_ms=world.now_ms)).outcome is AckOutcome.ACKED


def test_a_thousand_jobs_are_acked_at_once(world: World) -> None:
    ids = world.publish(*[b"x"] * 1_000, priority=1)
    world.take(count=1_000)

    outcomes = world.run(ack(world.queue, ids, now_ms=world.now_ms))

    assert set(outcomes) == {AckOutcome.ACKED}
    assert world.places() == {}


def test_what_does_not_fit_is_refused(world: World) -> None:
    for ids in ([], [UNKNOWN] * 1_001):
        with pytest.raises(InvalidArgumentError, match="invalid job ids"):
            ack(world.queue, ids)
    with pytest.raises(InvalidArgumentError, match="result too large"):
        ack_attempt(world.queue, UNKNOWN, result=b"x" * (BODY_MAX_BYTES + 1))


def test_a_result_that_is_too_large_ends_only_a_job_that_keeps_none(world: World) -> None:
    plain, keeping = world.job_in("working"), world.job_in("working", retention_ms=1_000)
    before = world.state().runs[keeping]

    ended = world.run(ack_attempt(world.queue, plain, result_too_large=True, now_ms=world.now_ms))
    with pytest.raises(ResultTooLargeError, match=keeping):
        world.run(ack_attempt(world.queue, keeping, result_too_large=True, now_ms=world.now_ms))

    assert ended.outcome is AckOutcome.ACKED
    assert world.places() == {keeping: "working"}
    assert world.state().runs[keeping] == before


def test_outcomes_can_be_counted() -> None:
    """As the type checker holds, to which they are frozen."""
    outcomes = [AckResult(AckOutcome.LOST), AckResult(AckOutcome.ACKED, 5), AckResult(AckOutcome.ACKED, 5)]

    assert Counter(outcomes) == {AckResult(AckOutcome.ACKED, 5): 2, AckResult(AckOutcome.LOST): 1}
