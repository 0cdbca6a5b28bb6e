"""The messages that wake waiting consumers: which script sends which, and only to queues that somebody waits on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queues.engine import (
    PublishOptions,
    ack,
    ack_attempt,
    consume,
    consume_any,
    extend,
    fail,
    pause,
    promote_due,
    publish,
    reclaim_ended,
    release,
    republish,
    respawn,
    resume,
)
from queues.engine.constants import PROMOTE_BATCH

from .test_ack import UNKNOWN
from .world import START_MS, TTR_MS, World

MARK_MS = 10_000_000

Messages = Callable[[], list[str]]


@pytest.fixture
def messages(world: World) -> Iterator[Messages]:
    """Call it for the messages since the last call, of a queue that somebody waits on."""
    world.run(consume_any([world.queue], ttr_ms=1, mark_ms=MARK_MS, now_ms=world.now_ms))
    with world.client.pubsub() as subscriber:
        subscriber.subscribe(world.queue.channel)
        subscriber.get_message(timeout=5)

        def since_the_last_call() -> list[str]:
            world.client.publish(world.queue.channel, "end")
            found: list[str] = []
            while True:
                message: Any = subscriber.get_message(timeout=5)
                assert message is not None
                if message["data"] == b"end":
                    return found
                found.append(message["data"].decode().replace("\tshop/orders\t", " "))

        yield since_the_last_call


def test_a_publish_says_how_many_jobs_became_ready(world: World, messages: Messages) -> None:
    world.publish(b"1", b"2", b"3")
    world.publish_one(priority=7)
    world.run(republish(world.queue, UNKNOWN, b"x", now_ms=world.now_ms))

    assert messages() == ["ready 3", "ready 1", "ready 1"]


def test_a_due_time_is_told_when_it_is_the_earliest(world: World, messages: Messages) -> None:
    for delay_ms in (500, 900, 400):
        world.publish_one(delay_ms=delay_ms)

    assert messages() == [f"due {START_MS + 500}", f"due {START_MS + 400}"]


def test_promotion_says_how_many(world: World, messages: Messages) -> None:
    world.publish(b"1", b"2", delay_ms=5)
    world.publish_one(delay_ms=10)
    messages()
    for _ in range(3):
        world.advance(5)
        world.run(promote_due(world.engine.layout, now_ms=world.now_ms))

    assert messages() == ["ready 2", "ready 1"]


def test_a_consumer_that_promotes_more_than_it_takes_tells_of_the_rest(world: World, messages: Messages) -> None:
    world.publish(*[b"x"] * 7, delay_ms=5)
    messages()
    world.advance(5)
    assert PROMOTE_BATCH > 7
    world.take(count=2)

    assert messages() == ["ready 5"]


def test_failures_and_releases_tell_where_the_job_went(world: World, messages: Messages) -> None:
    job_id = world.publish_one(tries=9)
    messages()

    def turn(work: Any) -> list[str]:
        world.take_one()
        world.run(work)
        return messages()

    assert turn(fail(world.queue, job_id, now_ms=world.now_ms)) == ["ready 1"]
    assert turn(release(world.queue, job_id, now_ms=world.now_ms)) == ["ready 1"]
    assert turn(fail(world.queue, job_id, delay_ms=50, now_ms=world.now_ms)) == [f"due {START_MS + 50}"]
    world.advance(50)
    assert turn(release(world.queue, job_id, delay_ms=70, now_ms=world.now_ms)) == [f"due {START_MS + 120}"]
    world.advance(70)
    assert turn(fail(world.queue, job_id, dead=True, now_ms=world.now_ms)) == []
    world.run(respawn(world.queue, limit=1, ttl_ms=0, now_ms=world.now_ms))
    assert messages() == ["ready 1"]


def test_lost_leases_say_how_many_are_ready(world: World, messages: Messages) -> None:
    world.publish(b"1", b"2", tries=2)
    world.publish(b"3", b"4", tries=1)
    world.take(count=4)
    messages()
    world.advance(TTR_MS)
    world.run(reclaim_ended(world.engine.layout, now_ms=world.now_ms))

    assert messages() == ["ready 2"]


@pytest.mark.parametrize("end", ["ack", "dead", "retry", "lost and dead"])
def test_a_place_in_flight_that_becomes_free_is_told_if_a_job_is_ready(
    world: World, messages: Messages, end: str
) -> None:
    first, _ = world.publish(b"1", b"2")
    world.take_one()
    messages()
    if end == "ack":
        world.run(ack(world.queue, [first], now_ms=world.now_ms))
    elif end == "lost and dead":
        world.advance(TTR_MS)
        world.run(reclaim_ended(world.engine.layout, now_ms=world.now_ms))
    else:
        world.run(fail(world.queue, first, dead=end == "dead", delay_ms=50, now_ms=world.now_ms))

    assert "ready 1" in messages()


def test_resuming_says_how_many_are_ready(world: World, messages: Messages) -> None:
    world.run(pause(world.queue, now_ms=world.now_ms))
    world.publish(b"1", b"2")
    messages()
    world.run(resume(world.queue, now_ms=world.now_ms))

    assert messages() == ["ready 2"]


def test_a_completed_job_is_told_even_when_nobody_waits_for_jobs(world: World, messages: Messages) -> None:
    world.advance(MARK_MS)
    job_id = world.publish_one(retention_ms=5)
    world.take_one()
    world.run(ack_attempt(world.queue, job_id, result=b"r", now_ms=world.now_ms))

    assert messages() == [f"done {job_id}"]


@pytest.mark.parametrize("end", ["failed", "lease lost"])
@pytest.mark.parametrize("retention_ms", [0, 5])
def test_the_death_of_a_job_is_told_if_it_has_a_retention(
    world: World, messages: Messages, end: str, retention_ms: int
) -> None:
    world.advance(MARK_MS)
    job_id = world.publish_one(retention_ms=retention_ms)
    world.take_one()
    if end == "failed":
        world.run(fail(world.queue, job_id, now_ms=world.now_ms))
    else:
        world.advance(TTR_MS)
        world.run(reclaim_ended(world.engine.layout, now_ms=world.now_ms))

    assert messages() == ([f"done {job_id}"] if retention_ms else [])


def test_what_makes_nothing_ready_tells_nothing(world: World, messages: Messages) -> None:
    job_id = world.publish_one()
    messages()
    world.take_one()
    world.run(extend(world.queue, job_id, ttr_ms=5, now_ms=world.now_ms))
    world.run(ack(world.queue, [job_id], now_ms=world.now_ms))
    world.run(pause(world.queue, now_ms=world.now_ms))

    assert messages() == []


def test_a_queue_that_nobody_waits_on_any_more_sends_nothing(world: World, messages: Messages) -> None:
    world.advance(MARK_MS)
    world.publish_one()
    world.publish_one(delay_ms=5)

    assert messages() == []


@pytest.mark.parametrize("why", ["empty", "paused", "full"])
def test_a_consumer_that_waits_leaves_its_mark_whatever_it_waits_for(world: World, why: str) -> None:
    if why == "paused":
        world.run(pause(world.queue, now_ms=world.now_ms))
    if why == "full":
        world.publish(b"1", b"2")
        world.take_one()
    consumed = consume_any([world.queue], ttr_ms=1, mark_ms=700, max_in_flight=1, now_ms=world.now_ms)
    assert world.run(consumed).jobs == ()

    assert world.content().partition(world.queue.partition).waiting == {"shop/orders": START_MS + 700}


def test_a_consumer_that_got_something_or_does_not_wait_leaves_no_mark(world: World) -> None:
    world.publish_one()
    world.run(consume_any([world.queue], ttr_ms=1, mark_ms=700, now_ms=world.now_ms))
    world.run(consume(world.queue, ttr_ms=1, now_ms=world.now_ms))

    assert world.content().partition(world.queue.partition).waiting == {}


def test_a_mark_is_never_shortened_and_old_ones_are_dropped(world: World) -> None:
    other = next(
        queue
        for queue in (world.engine.queue("shop", f"q{number}") for number in range(99))
        if queue.partition == world.queue.partition
    )
    world.run(consume_any([other], ttr_ms=1, mark_ms=100, now_ms=world.now_ms))
    world.run(consume_any([world.queue], ttr_ms=1, mark_ms=5_000, now_ms=world.now_ms))
    world.advance(100)
    world.run(consume_any([world.queue], ttr_ms=1, mark_ms=1_000, now_ms=world.now_ms))

    assert world.content().partition(world.queue.partition).waiting == {"shop/orders": START_MS + 5_000}


def test_options_do_not_keep_a_duplicate_from_being_silent(world: World, messages: Messages) -> None:
    world.publish_one(key="k")
    messages()
    world.run(publish(world.queue, [b"x"], PublishOptions(key="k"), now_ms=world.now_ms))

    assert messages() == []
