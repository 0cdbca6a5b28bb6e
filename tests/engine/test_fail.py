"""Edge H: a failed attempt leads to retry, ready or dead."""

from __future__ import annotations

import pytest

from queues.engine import InvalidArgumentError, JobNotFoundError, JobState, LeaseLostError, detail, fail, parse_backoff
from queues.engine.constants import ERROR_MAX_BYTES, HISTORY_MAX_ATTEMPTS

from .test_ack import UNKNOWN
from .world import START_MS, STATES, World


def test_without_a_backoff_the_job_is_ready_again_behind_the_others(world: World) -> None:
    failing = world.publish_one(tries=2)
    world.take_one()
    other = world.publish_one()

    failed = world.run(fail(world.queue, failing, now_ms=world.now_ms))

    assert (failed.state, failed.due_ms) == (JobState.READY, 0)
    assert world.places() == {failing: "ready", other: "ready"}
    assert [job.job_id for job in world.take(count=2)] == [other, failing]


def test_with_a_backoff_the_job_waits_in_retry(world: World) -> None:
    job_id = world.publish_one(tries=2, backoff=parse_backoff("fixed:1.5"))
    world.take_one()
    world.advance(7)

    failed = world.run(fail(world.queue, job_id, now_ms=world.now_ms))

    assert (failed.state, failed.due_ms) == (JobState.RETRY, START_MS + 1_507)
    assert world.places() == {job_id: "retry"}
    assert world.state().retry == {job_id: START_MS + 1_507}


def test_a_delay_given_by_the_caller_goes_before_the_backoff(world: World) -> None:
    job_id = world.publish_one(tries=3, backoff=parse_backoff("fixed:100"))
    world.take_one()
    assert world.run(fail(world.queue, job_id, delay_ms=20, now_ms=world.now_ms)).due_ms == START_MS + 20
    world.advance(20)
    world.take_one()

    assert world.run(fail(world.queue, job_id, delay_ms=0, now_ms=world.now_ms)).state is JobState.READY


@pytest.mark.parametrize("backoff", ["none", "fixed:9"])
def test_after_the_last_try_the_job_is_dead(world: World, backoff: str) -> None:
    job_id = world.publish_one(tries=1, backoff=parse_backoff(backoff))
    world.take_one()

    failed = world.run(fail(world.queue, job_id, delay_ms=50, now_ms=world.now_ms))

    assert (failed.state, failed.due_ms) == (JobState.DEAD, 0)
    assert world.places() == {job_id: "dead"}
    assert world.state().dead == {job_id: START_MS}


def test_a_job_can_be_buried_whatever_tries_are_left(world: World) -> None:
    job_id = world.publish_one(tries=9)
    world.take_one()

    assert world.run(fail(world.queue, job_id, dead=True, now_ms=world.now_ms)).state is JobState.DEAD
    assert world.places() == {job_id: "dead"}


@pytest.mark.parametrize("place", [place for place in STATES if place != "working"])
def test_a_job_that_nobody_holds_cannot_fail_and_nothing_changes(world: World, place: str) -> None:
    job_id = world.job_in(place)
    before = world.dump()

    for attempt in (None, 1):
        with pytest.raises(LeaseLostError):
            world.run(fail(world.queue, job_id, attempt=attempt, error="late", now_ms=world.now_ms))

        assert world.dump() == before, attempt


def test_an_attempt_that_another_has_followed_cannot_fail_the_job(world: World) -> None:
    job_id = world.publish_one(tries=3)
    world.take_one()
    world.run(fail(world.queue, job_id, attempt=1, now_ms=world.now_ms))
    world.take_one()
    before = world.dump()

    with pytest.raises(LeaseLostError):
        world.run(fail(world.queue, job_id, attempt=1, now_ms=world.now_ms))

    assert world.dump() == before


def test_an_unknown_job_cannot_fail(world: World) -> None:
    with pytest.raises(JobNotFoundError):
        world.run(fail(world.queue, UNKNOWN))


@pytest.mark.parametrize("delay_ms", [-1, 2**32 * 1000])
def test_a_delay_out_of_range_is_refused(world: World, delay_ms: int) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid delay"):
        fail(world.queue, UNKNOWN, delay_ms=delay_ms)


def test_the_history_says_what_each_attempt_did(world: World) -> None:
    job_id = world.publish_one(tries=3)
    world.advance(5)
    world.take_one(consumer="w1")
    world.advance(10)
    world.run(fail(world.queue, job_id, error="boom\tü\n", now_ms=world.now_ms))
    world.take_one(consumer="w2")

    (past,) = world.state().runs[job_id].history
    assert (past.attempt, past.taken_ms, past.ended_ms) == (1, START_MS + 5, START_MS + 15)
    assert (past.outcome, past.consumer, past.error) == ("failed", "w1", "boom\tü\n")


def test_the_history_keeps_the_newest_attempts_only(world: World) -> None:
    job_id = world.publish_one(tries=100)

    for attempt in range(1, HISTORY_MAX_ATTEMPTS + 6):
        world.take_one(consumer=f"w{attempt}")
        world.run(fail(world.queue, job_id, error=f"error {attempt}", now_ms=world.now_ms))
        kept = world.state().runs[job_id].history
        wanted = range(max(1, attempt - HISTORY_MAX_ATTEMPTS + 1), attempt + 1)
        assert [past.attempt for past in kept] == list(wanted)
        assert [past.error for past in kept] == [f"error {number}" for number in wanted]


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        ("e" * ERROR_MAX_BYTES, "e" * ERROR_MAX_BYTES),
        ("e" * (ERROR_MAX_BYTES + 1), "e" * ERROR_MAX_BYTES),
        ("ü" * ERROR_MAX_BYTES, "ü" * (ERROR_MAX_BYTES // 2)),
        ("x" + "ü" * ERROR_MAX_BYTES, "x" + "ü" * ((ERROR_MAX_BYTES - 1) // 2)),
        ("half a pair \ud800", "half a pair ?"),
        ("nul \0", "nul \0"),
    ],
)
def test_an_error_is_cut_to_a_kilobyte_of_whole_characters(world: World, error: str, kept: str) -> None:
    job_id = world.job_in("working")

    world.run(fail(world.queue, job_id, error=error, now_ms=world.now_ms))

    found = world.run(detail(world.queue, job_id, now_ms=world.now_ms))
    assert found is not None
    assert found.history[0].error == kept


LINES = "".join(
    f'  File "/app/modül_{number}.py", line {number}, in call\n    call({number})\n' for number in range(90)
)
HEAD = "Traceback (most recent call last):\n"
MORE = "[parameters: 1]\n" * 300
JAVA_CALLS = "\tat com.shop.Orders.close(Orders.java:41)\n" * 90


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (f"{HEAD}{LINES}shop.CardDeclined: ordér 17\n", "shop.CardDeclined: ordér 17"),
        (f"{HEAD}{LINES}shop.CardDeclined: {'ü' * 5_000}\n", f"shop.CardDeclined: {'ü' * 240}"),
        (f"{HEAD}{LINES}DatabaseError: deadlock\n{MORE}", "DatabaseError: deadlock"),
        (f"{HEAD}  File\nValueError: first\n\nDuring\n\n{HEAD}{LINES}OSError: no space\n", "OSError: no space"),
        (f"{HEAD}  File\nDatabaseError: deadlock\n{MORE}", "DatabaseError: deadlock"),
        (f"java.lang.Error: closed\n{JAVA_CALLS}", "java.lang.Error: closed"),
    ],
)
def test_of_a_long_error_the_line_that_says_what_happened_is_kept(world: World, error: str, line: str) -> None:
    job_id = world.job_in("working")

    world.run(fail(world.queue, job_id, error=error, now_ms=world.now_ms))

    found = world.run(detail(world.queue, job_id, now_ms=world.now_ms))
    assert found is not None
    kept = found.history[0].error
    assert len(error.encode()) > 3 * ERROR_MAX_BYTES
    assert len(kept.encode()) <= ERROR_MAX_BYTES
    assert kept.startswith(error.partition("\n")[0])
    assert any(one.startswith(line) for one in kept.splitlines())
    assert set(kept.replace("\n  …\n", "\n").splitlines()) - set(error.splitlines()) <= {kept.splitlines()[-1]}
