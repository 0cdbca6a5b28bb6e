"""Edge Q: a job that waits for its time gets another one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from queues.engine import InvalidArgumentError, JobState, Rescheduled, consume_any, detail, reschedule, stats
from queues.engine.constants import BULK_MAX_JOBS, RESCHEDULE_BATCH

from .test_ack import UNKNOWN
from .test_events import Event, after, entries
from .test_wake_messages import Messages, messages
from .world import START_MS, STATES, World

__all__ = ["messages"]

WAITING = ("delayed", "retry")


def move(world: World, *job_ids: str, at_ms: int | None = None, delay_ms: int = 0) -> tuple[Rescheduled, ...]:
    return world.run(reschedule(world.queue, job_ids, at_ms=at_ms, delay_ms=delay_ms, now_ms=world.now_ms))


@pytest.mark.parametrize("place", WAITING)
@pytest.mark.parametrize("later", [1, 70_000])
def test_a_job_stays_in_its_state_and_is_due_at_the_new_time(world: World, place: str, later: int) -> None:
    job_id = world.job_in(place)

    assert move(world, job_id, at_ms=START_MS + later) == (Rescheduled.MOVED,)

    assert world.places() == {job_id: place}
    assert getattr(world.state(), place) == {job_id: START_MS + later}
    assert world.take() == ()
    assert world.take_one_after(later).job_id == job_id


@pytest.mark.parametrize("place", WAITING)
@pytest.mark.parametrize("at_ms", [None, START_MS, START_MS - 5, 0])
def test_a_time_that_has_come_makes_the_job_ready(world: World, place: str, at_ms: int | None) -> None:
    job_id = world.job_in(place)
    world.advance(300)

    assert move(world, job_id, at_ms=at_ms) == (Rescheduled.MOVED,)

    assert world.places() == {job_id: "ready"}
    assert world.take_one().job_id == job_id


@pytest.mark.parametrize("place", WAITING)
def test_a_job_with_a_priority_becomes_ready_in_its_band(world: World, place: str) -> None:
    job_id = world.job_in(place, priority=9)
    plain = world.publish_one()

    move(world, job_id)

    assert [job.job_id for job in world.take(count=2)] == [job_id, plain]


def test_a_job_that_was_never_handed_out_keeps_its_tries_and_its_expiry(world: World) -> None:
    job_id = world.publish_one(b"body", delay_ms=500, tries=3, ttl_ms=9_000, attributes={"a": "b"}, retention_ms=7)

    move(world, job_id, delay_ms=2_000)
    found = world.run(detail(world.queue, job_id, now_ms=world.now_ms))

    assert found is not None
    assert (found.state, found.due_ms, found.attempt, found.used) == (JobState.DELAYED, START_MS + 2_000, 0, 0)
    assert (found.tries, found.expires_ms, found.taken_ms) == (3, START_MS + 9_000, None)
    taken = world.take_one_after(2_000)
    assert (taken.body, taken.attempt, taken.remain_tries) == (b"body", 1, 2)
    assert (taken.expires_ms, taken.attributes) == (START_MS + 9_000, {"a": "b"})


def test_waiting_counts_from_the_new_time(world: World) -> None:
    job_id = world.publish_one(delay_ms=60_000)
    world.advance(1_000)
    move(world, job_id)
    world.advance(2_000)

    assert world.run(stats(world.queue, now_ms=world.now_ms)).oldest_ready_ms == 2_000


def test_a_failed_job_keeps_its_attempts(world: World) -> None:
    job_id = world.job_in("retry")

    move(world, job_id)

    taken = world.take_one()
    assert (taken.job_id, taken.attempt) == (job_id, 2)
    assert [attempt.attempt for attempt in world.state().runs[job_id].history] == [1]


def test_a_job_that_would_expire_before_its_time_is_left_as_it_is(world: World) -> None:
    job_id = world.publish_one(delay_ms=500, ttl_ms=1_000)
    before = world.dump()

    assert move(world, job_id, at_ms=START_MS + 1_001) == (Rescheduled.EXPIRES,)
    assert world.dump() == before
    assert move(world, job_id, at_ms=START_MS + 1_000) == (Rescheduled.MOVED,)


@pytest.mark.parametrize("place", [place for place in STATES if place not in WAITING])
def test_a_job_that_waits_for_no_time_is_left_as_it_is(world: World, place: str) -> None:
    job_id = world.job_in(place)
    before = world.dump()

    assert move(world, job_id, delay_ms=50) == (Rescheduled.OTHER,)
    assert world.dump() == before


def test_several_jobs_get_an_outcome_each(world: World) -> None:
    ready = world.publish_one()
    first, second = world.publish(b"1", b"2", delay_ms=1_000)

    assert [str(word) for word in move(world, second, UNKNOWN, ready, first, second)] == [
        "moved",
        "missing",
        "other",
        "moved",
        "other",
    ]
    assert [job.job_id for job in world.take(count=9)] == [ready, second, first]


def test_many_jobs_are_moved_in_batches(world: World) -> None:
    ids = world.publish(*[b"x"] * (RESCHEDULE_BATCH + 1), delay_ms=1_000)

    assert move(world, *ids) == (Rescheduled.MOVED,) * len(ids)
    assert [job.job_id for job in world.take(count=1_000)] == list(ids)


def test_it_is_told_with_the_time_until_the_job_is_due(world: World) -> None:
    job_id = world.job_in("retry")

    later = after(world, reschedule(world.queue, [job_id], delay_ms=70, now_ms=world.now_ms))
    now = after(world, reschedule(world.queue, [job_id], now_ms=world.now_ms))

    assert later == [Event("rescheduled", job_id, attempt="1", wait_ms="70")]
    assert now == [Event("rescheduled", job_id, attempt="1", wait_ms="0")]
    assert len(entries(world.client, world.queue)) == 1


def test_who_waits_is_woken_for_jobs_that_became_ready_and_for_an_earlier_time(
    world: World, messages: Messages
) -> None:
    ids = world.publish(b"1", b"2", delay_ms=5_000)
    messages()

    move(world, ids[0], delay_ms=900)
    assert messages() == [f"due {START_MS + 900}"]
    move(world, ids[0], delay_ms=8_000)
    assert messages() == []
    move(world, *ids)
    assert messages() == ["ready 2"]


@pytest.fixture
def full(world: World) -> Iterator[Callable[[], None]]:
    """Call it to fill the store."""
    world.client.config_set("maxmemory-policy", "noeviction")
    yield lambda: world.client.config_set("maxmemory", 1)
    world.client.config_set("maxmemory", 0)


@pytest.mark.parametrize("place", WAITING)
@pytest.mark.parametrize("delay_ms", [0, 7])
def test_it_goes_on_when_the_store_is_full(world: World, full: Callable[[], None], place: str, delay_ms: int) -> None:
    job_id = world.job_in(place)
    full()

    assert move(world, job_id, delay_ms=delay_ms) == (Rescheduled.MOVED,)
    assert world.places() == {job_id: place if delay_ms else "ready"}


def test_options_out_of_range_are_refused(world: World) -> None:
    for delay_ms in (-1, 2**32 * 1000):
        with pytest.raises(InvalidArgumentError, match="invalid delay"):
            move(world, UNKNOWN, delay_ms=delay_ms)
    for at_ms in (-1, 2**33 * 1000):
        with pytest.raises(InvalidArgumentError, match="invalid at"):
            move(world, UNKNOWN, at_ms=at_ms)
    with pytest.raises(InvalidArgumentError, match="invalid at"):
        move(world, UNKNOWN, at_ms=START_MS, delay_ms=1)
    for ids in ([], [UNKNOWN] * (BULK_MAX_JOBS + 1)):
        with pytest.raises(InvalidArgumentError, match="invalid job ids"):
            move(world, *ids)


def test_a_line_that_sleeps_until_a_later_time_gets_the_job_at_once(world: World) -> None:
    job_id = world.publish_one(delay_ms=50_000)
    asked = world.run(consume_any([world.queue], ttr_ms=1, now_ms=world.now_ms))

    move(world, job_id, delay_ms=10)

    assert asked.next_due_ms == START_MS + 50_000
    assert world.run(consume_any([world.queue], ttr_ms=1, now_ms=world.now_ms)).next_due_ms == START_MS + 10
