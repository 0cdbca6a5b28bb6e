"""Who waits at a process: who comes, goes and comes back, and how much of it is told."""

from __future__ import annotations

import pytest

from queues.engine.stats.consumers import (
    CONSUMERS_REPORTED,
    QUEUES_REPORTED,
    REMEMBERED_MAX,
    REMEMBERED_S,
    ConsumerKey,
    QueueWaiters,
    WaitingConsumer,
    WaitingConsumers,
)


class Clock:
    """Seconds that only the test lets pass."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def waiting_consumers(clock: Clock) -> WaitingConsumers:
    return WaitingConsumers(clock=clock)


def consumer_key(
    consumer: str = "mailer", *queues: str, namespace: str = "shop", address: str = "10.0.0.7"
) -> ConsumerKey:
    return ConsumerKey(namespace=namespace, queues=queues or ("emails",), consumer=consumer, address=address)


def reported(waiting_consumers: WaitingConsumers) -> list[tuple[str, int, int, int]]:
    """Name, calls that wait, ms since it was first seen, ms since it left."""
    return [(one.consumer, one.waiting, one.since_ms, one.left_ms) for one in waiting_consumers.summary("p").consumers]


def test_who_waits_is_told_with_queues_address_and_since_when(
    waiting_consumers: WaitingConsumers, clock: Clock
) -> None:
    waiting_consumers.enter(consumer_key("mailer", "urgent", "emails"))
    clock.now += 2.5

    beat = waiting_consumers.summary("web:1")

    assert (beat.process, beat.waiting, beat.consumers_omitted, beat.queues_omitted) == ("web:1", 1, 0, 0)
    assert beat.consumers == (
        WaitingConsumer(
            namespace="shop",
            queues=("urgent", "emails"),
            consumer="mailer",
            address="10.0.0.7",
            waiting=1,
            since_ms=2500,
        ),
    )
    assert beat.queues == (
        QueueWaiters(namespace="shop", queue="urgent", waiting=1),
        QueueWaiters(namespace="shop", queue="emails", waiting=1),
    )


def test_calls_of_one_consumer_for_the_same_queues_are_one_row(waiting_consumers: WaitingConsumers) -> None:
    for _ in range(3):
        waiting_consumers.enter(consumer_key())
    waiting_consumers.leave(consumer_key())

    beat = waiting_consumers.summary("p")

    assert beat.waiting == 2
    assert [one.waiting for one in beat.consumers] == [2]
    assert [one.waiting for one in beat.queues] == [2]


def test_a_consumer_that_polls_again_and_again_has_been_there_since_its_first_poll(
    waiting_consumers: WaitingConsumers, clock: Clock
) -> None:
    for _ in range(4):
        waiting_consumers.enter(consumer_key())
        clock.now += 5
        waiting_consumers.leave(consumer_key())
        clock.now += 1
    waiting_consumers.enter(consumer_key())

    assert reported(waiting_consumers) == [("mailer", 1, 24_000, 0)]


def test_who_has_left_is_told_of_for_a_while(waiting_consumers: WaitingConsumers, clock: Clock) -> None:
    waiting_consumers.enter(consumer_key())
    clock.now += 10
    waiting_consumers.leave(consumer_key())
    clock.now += REMEMBERED_S

    assert reported(waiting_consumers) == [("mailer", 0, 10_000 + REMEMBERED_S * 1000, REMEMBERED_S * 1000)]
    clock.now += 1
    assert waiting_consumers.summary("p").is_empty


def test_who_comes_back_after_that_is_new(waiting_consumers: WaitingConsumers, clock: Clock) -> None:
    waiting_consumers.enter(consumer_key())
    waiting_consumers.leave(consumer_key())
    clock.now += REMEMBERED_S + 1
    waiting_consumers.enter(consumer_key())

    assert reported(waiting_consumers) == [("mailer", 1, 0, 0)]


def test_those_who_wait_are_told_before_those_who_left(waiting_consumers: WaitingConsumers) -> None:
    waiting_consumers.enter(consumer_key("gone"))
    waiting_consumers.leave(consumer_key("gone"))
    for number in range(CONSUMERS_REPORTED):
        waiting_consumers.enter(consumer_key(f"c{number}"))

    beat = waiting_consumers.summary("p")

    assert "gone" not in {one.consumer for one in beat.consumers}
    assert (len(beat.consumers), beat.consumers_omitted) == (CONSUMERS_REPORTED, 1)


def test_one_namespace_does_not_crowd_out_another(waiting_consumers: WaitingConsumers) -> None:
    for number in range(max(CONSUMERS_REPORTED, QUEUES_REPORTED) + 7):
        waiting_consumers.enter(consumer_key(f"c{number}", f"q{number}", namespace="large"))
    waiting_consumers.enter(consumer_key("the only one", "its-queue", namespace="small"))

    beat = waiting_consumers.summary("p")

    assert (len(beat.consumers), len(beat.queues)) == (CONSUMERS_REPORTED, QUEUES_REPORTED)
    assert "the only one" in {one.consumer for one in beat.consumers}
    assert "its-queue" in {one.queue for one in beat.queues}
    assert (beat.consumers_omitted, beat.queues_omitted) == (QUEUES_REPORTED + 8 - CONSUMERS_REPORTED, 8)


def test_of_those_who_left_so_many_are_remembered_and_no_more(waiting_consumers: WaitingConsumers) -> None:
    for number in range(REMEMBERED_MAX + 5):
        waiting_consumers.enter(consumer_key(f"c{number}"))
        waiting_consumers.leave(consumer_key(f"c{number}"))

    beat = waiting_consumers.summary("p")

    assert len(beat.consumers) + beat.consumers_omitted == REMEMBERED_MAX
    assert beat.consumers[0].consumer == f"c{REMEMBERED_MAX + 4}", "the latest first"
