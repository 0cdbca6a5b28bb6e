"""Who waits at a process: who comes, goes and comes back, and how much of it is told."""

from __future__ import annotations

import pytest

from queues.engine.stats.attendance import CONSUMERS_TOLD, LINGERING_MAX, LINGERS_S, QUEUES_TOLD, Attendance, Place
from queues.engine.stats.consumers import QueueWaiters, WaitingConsumer


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
def attendance(clock: Clock) -> Attendance:
    return Attendance(clock=clock)


def place(consumer: str = "mailer", *queues: str, namespace: str = "shop", address: str = "10.0.0.7") -> Place:
    return Place(namespace=namespace, queues=queues or ("emails",), consumer=consumer, address=address)


def told(attendance: Attendance) -> list[tuple[str, int, int, int]]:
    """Name, calls that wait, ms since it was first seen, ms since it left."""
    return [(one.consumer, one.waiting, one.since_ms, one.left_ms) for one in attendance.summary("p").consumers]


def test_who_waits_is_told_with_queues_address_and_since_when(attendance: Attendance, clock: Clock) -> None:
    attendance.enter(place("mailer", "urgent", "emails"))
    clock.now += 2.5

    beat = attendance.summary("web:1")

    assert (beat.process, beat.waiting, beat.consumers_untold, beat.queues_untold) == ("web:1", 1, 0, 0)
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


def test_calls_of_one_consumer_for_the_same_queues_are_one_row(attendance: Attendance) -> None:
    for _ in range(3):
        attendance.enter(place())
    attendance.leave(place())

    beat = attendance.summary("p")

    assert beat.waiting == 2
    assert [one.waiting for one in beat.consumers] == [2]
    assert [one.waiting for one in beat.queues] == [2]


def test_a_consumer_that_polls_again_and_again_has_been_there_since_its_first_poll(
    attendance: Attendance, clock: Clock
) -> None:
    for _ in range(4):
        attendance.enter(place())
        clock.now += 5
        attendance.leave(place())
        clock.now += 1
    attendance.enter(place())

    assert told(attendance) == [("mailer", 1, 24_000, 0)]


def test_who_has_left_is_told_of_for_a_while(attendance: Attendance, clock: Clock) -> None:
    attendance.enter(place())
    clock.now += 10
    attendance.leave(place())
    clock.now += LINGERS_S

    assert told(attendance) == [("mailer", 0, 10_000 + LINGERS_S * 1000, LINGERS_S * 1000)]
    clock.now += 1
    assert attendance.summary("p").is_empty


def test_who_comes_back_after_that_is_new(attendance: Attendance, clock: Clock) -> None:
    attendance.enter(place())
    attendance.leave(place())
    clock.now += LINGERS_S + 1
    attendance.enter(place())

    assert told(attendance) == [("mailer", 1, 0, 0)]


def test_those_who_wait_are_told_before_those_who_left(attendance: Attendance) -> None:
    attendance.enter(place("gone"))
    attendance.leave(place("gone"))
    for number in range(CONSUMERS_TOLD):
        attendance.enter(place(f"c{number}"))

    beat = attendance.summary("p")

    assert "gone" not in {one.consumer for one in beat.consumers}
    assert (len(beat.consumers), beat.consumers_untold) == (CONSUMERS_TOLD, 1)


def test_one_namespace_does_not_crowd_out_another(attendance: Attendance) -> None:
    for number in range(max(CONSUMERS_TOLD, QUEUES_TOLD) + 7):
        attendance.enter(place(f"c{number}", f"q{number}", namespace="large"))
    attendance.enter(place("the only one", "its-queue", namespace="small"))

    beat = attendance.summary("p")

    assert (len(beat.consumers), len(beat.queues)) == (CONSUMERS_TOLD, QUEUES_TOLD)
    assert "the only one" in {one.consumer for one in beat.consumers}
    assert "its-queue" in {one.queue for one in beat.queues}
    assert (beat.consumers_untold, beat.queues_untold) == (QUEUES_TOLD + 8 - CONSUMERS_TOLD, 8)


def test_of_those_who_left_so_many_are_remembered_and_no_more(attendance: Attendance) -> None:
    for number in range(LINGERING_MAX + 5):
        attendance.enter(place(f"c{number}"))
        attendance.leave(place(f"c{number}"))

    beat = attendance.summary("p")

    assert len(beat.consumers) + beat.consumers_untold == LINGERING_MAX
    assert beat.consumers[0].consumer == f"c{LINGERING_MAX + 4}", "the latest first"
