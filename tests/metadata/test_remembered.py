"""The memory of metadata: fresh for a second, stale for ten minutes while the database is away, bounded."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import NoReturn

import pytest
from django.db import OperationalError

from queues.pools.errors import MetadataUnavailableError
from queues.pools.reading import forget_outage
from queues.pools.remembered import Remembered
from tests.support.clock import ManualClock

pytestmark = pytest.mark.django_db


class Source:
    """Stands for a query: counts how often it is asked, and can be away."""

    def __init__(self) -> None:
        self.asked = 0
        self.away = False

    def __call__(self, _old: int | None) -> int:
        self.asked += 1
        if self.away:
            raise OperationalError("gone")
        return self.asked


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> Remembered[str, int]:
    return Remembered(clock=clock, size=3)


def test_an_answer_is_asked_for_again_after_a_second(memory: Remembered[str, int], clock: ManualClock) -> None:
    source = Source()
    assert [memory.get("a", source) for _ in range(3)] == [1, 1, 1]
    clock.advance(1.01)
    assert memory.peek("a") is None
    assert memory.get("a", source) == 2
    assert memory.peek("a") == 2


def test_what_is_not_there_is_asked_for_each_time(memory: Remembered[str, int]) -> None:
    asked = []

    def missing(_old: int | None) -> NoReturn:
        asked.append(1)
        raise LookupError

    for _ in range(3):
        with pytest.raises(LookupError):
            memory.get("a", missing)
    assert len(asked) == 3
    assert len(memory) == 0


def test_what_is_no_longer_there_is_forgotten_even_for_an_outage(
    memory: Remembered[str, int], clock: ManualClock
) -> None:
    def missing(_old: int | None) -> NoReturn:
        raise LookupError

    source = Source()
    memory.get("a", source)
    clock.advance(2)
    with pytest.raises(LookupError):
        memory.get("a", missing)
    source.away = True
    with pytest.raises(MetadataUnavailableError):
        memory.get("a", source)


def test_an_outage_is_bridged_for_ten_minutes(memory: Remembered[str, int], clock: ManualClock) -> None:
    source = Source()
    memory.get("a", source)
    source.away = True
    clock.advance(600)
    assert memory.get("a", source) == 1
    clock.advance(0.1)
    with pytest.raises(MetadataUnavailableError):
        memory.get("a", source)
    source.away = False
    forget_outage()
    assert memory.get("a", source) > 1


def test_during_an_outage_the_database_is_asked_once_a_second_only(
    memory: Remembered[str, int], clock: ManualClock
) -> None:
    source = Source()
    memory.get("a", source)
    source.away = True
    clock.advance(2)
    assert [memory.get("a", source) for _ in range(50)] == [1] * 50
    assert source.asked == 2


def test_the_least_recently_used_goes_first(memory: Remembered[str, int]) -> None:
    source = Source()
    for key in "abc":
        memory.get(key, source)
    memory.get("a", source)
    memory.get("d", source)
    assert len(memory) == 3
    assert {key for key in "abcd" if memory.peek(key)} == {"a", "c", "d"}


@pytest.mark.django_db(transaction=True)
def test_of_many_threads_one_asks(memory: Remembered[str, int]) -> None:
    asked = []
    everybody = threading.Barrier(8)
    two_readers = threading.Barrier(2)

    def read(_old: int | None) -> int:
        asked.append(1)
        with suppress(threading.BrokenBarrierError):
            two_readers.wait(timeout=0.3)  # passes at once if a second thread reads as well
        return len(asked)

    def call() -> None:
        everybody.wait()
        memory.get("a", read)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asked) == 1
