"""The memory of metadata: fresh for a second, stale for ten minutes while the database is away, bounded."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

import pytest
from django.db import DataError, OperationalError

from queues.pools import database
from queues.pools.database import MetadataUnavailableError, forget_outage
from queues.pools.ttl_cache import REFRESHER, Recent, Refresher, TtlCache
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
def memory(clock: ManualClock) -> TtlCache[str, int]:
    return TtlCache(clock=clock, size=3)


def test_an_answer_is_asked_for_again_after_a_second(memory: TtlCache[str, int], clock: ManualClock) -> None:
    source = Source()
    assert [memory.get("a", source) for _ in range(3)] == [1, 1, 1]
    clock.advance(1.01)
    assert memory.peek("a") is None
    assert memory.get("a", source) == 2
    assert memory.peek("a") == 2


def test_what_is_not_there_is_asked_for_each_time(memory: TtlCache[str, int]) -> None:
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
    memory: TtlCache[str, int], clock: ManualClock
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


def test_an_outage_is_bridged_for_ten_minutes(memory: TtlCache[str, int], clock: ManualClock) -> None:
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
    memory: TtlCache[str, int], clock: ManualClock
) -> None:
    source = Source()
    memory.get("a", source)
    source.away = True
    clock.advance(2)
    assert [memory.get("a", source) for _ in range(50)] == [1] * 50
    assert source.asked == 2


def test_the_least_recently_used_goes_first(memory: TtlCache[str, int]) -> None:
    source = Source()
    for key in "abc":
        memory.get(key, source)
    memory.get("a", source)
    memory.get("d", source)
    assert len(memory) == 3
    assert {key for key in "abcd" if memory.peek(key)} == {"a", "c", "d"}


@pytest.mark.django_db(transaction=True)
def test_of_many_threads_one_asks(memory: TtlCache[str, int]) -> None:
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


class Hanging:
    """Stands for a query to a database that does not answer: each read hangs until let go, and then fails."""

    def __init__(self) -> None:
        self.asked = 0
        self.begun = threading.Event()
        self.let_go = threading.Event()

    def __call__(self, _old: int | None) -> int:
        self.asked += 1
        self.begun.set()
        assert self.let_go.wait(20)
        raise OperationalError("timed out")


@pytest.fixture
def hanging() -> Hanging:
    return Hanging()


def in_thread(memory: TtlCache[str, int], key: str, hanging: Hanging) -> threading.Thread:
    """A caller who finds out that the database hangs."""
    thread = threading.Thread(target=lambda: memory.get(key, hanging))
    thread.start()
    assert hanging.begun.wait(10)
    return thread


def took(call: Callable[[], int]) -> float:
    started = time.monotonic()
    assert call() == 1
    return time.monotonic() - started


@pytest.mark.django_db(transaction=True)
def test_a_database_that_hangs_holds_up_one_caller_and_the_others_briefly(
    memory: TtlCache[str, int], clock: ManualClock, hanging: Hanging
) -> None:
    for key in "abc":
        memory.get(key, Source())
    clock.advance(2)
    assert memory.peek("a") is None
    prober = in_thread(memory, "a", hanging)
    try:
        assert took(lambda: memory.get("a", hanging)) < 2
        assert memory.peek("b") == 1, "while it hangs, an event loop is answered at once"
        times = [took(lambda key=key: memory.get(key, hanging)) for key in "abc" * 10]  # type: ignore[misc]
        assert max(times) < 0.2
        assert hanging.asked == 1
        assert prober.is_alive()
    finally:
        hanging.let_go.set()
        prober.join()


@pytest.mark.django_db(transaction=True)
def test_a_read_that_failed_after_a_long_wait_is_not_tried_once_more(
    memory: TtlCache[str, int], clock: ManualClock, hanging: Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.get("a", Source())
    clock.advance(2)
    monkeypatch.setattr(database, "BROKEN_WITHIN_S", 0.0)
    hanging.let_go.set()
    assert memory.get("a", hanging) == 1
    assert hanging.asked == 1


@pytest.mark.django_db(transaction=True)
def test_in_a_known_outage_one_caller_asks_and_no_other_waits(
    memory: TtlCache[str, int], clock: ManualClock, hanging: Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source()
    memory.get("a", source)
    memory.get("b", Source())
    clock.advance(2)
    source.away = True
    memory.get("a", source)
    monkeypatch.setattr(database._outage, "ask_again_at", 0.0)
    assert memory.peek("b") is None, "somebody has to ask again"
    prober = in_thread(memory, "a", hanging)
    try:
        assert took(lambda: memory.get("b", hanging)) < 0.2
        assert memory.peek("b") == 1
        assert hanging.asked == 1
    finally:
        hanging.let_go.set()
        prober.join()


@pytest.mark.django_db(transaction=True)
def test_one_slow_query_does_not_keep_a_healthy_database_from_being_asked(
    memory: TtlCache[str, int], clock: ManualClock, hanging: Hanging
) -> None:
    source = Source()
    memory.get("a", Source())
    memory.get("b", source)
    clock.advance(2)
    prober = in_thread(memory, "a", hanging)
    try:
        assert took(lambda: memory.get("a", hanging)) < 2
        memory.get("new", Source())  # the database answers somebody
        assert memory.get("b", source) == 2
    finally:
        hanging.let_go.set()
        prober.join()


def test_an_error_about_the_question_is_no_outage(memory: TtlCache[str, int], clock: ManualClock) -> None:
    def bad(_old: int | None) -> NoReturn:
        raise DataError("text fields cannot contain NUL")

    with pytest.raises(DataError):
        memory.get("a", bad)
    assert not database.is_outage_known()
    source = Source()
    memory.get("b", source)
    clock.advance(2)
    assert memory.get("b", source) == 2, "others are read as before"


def test_what_is_in_use_is_read_again_before_it_expires(memory: TtlCache[str, int], clock: ManualClock) -> None:
    source = Source()
    memory.get("a", source)
    for turn in range(1, 6):
        assert memory.peek("a") == turn
        assert source.asked == turn, "young enough"
        clock.advance(0.6)
        assert [memory.peek("a") for _ in range(3)] == [turn] * 3, "answered as it is"
        REFRESHER.stop()
        assert source.asked == turn + 1, "read once for all who asked"


def test_nothing_is_read_ahead_while_the_database_is_away(memory: TtlCache[str, int], clock: ManualClock) -> None:
    source, gone = Source(), Source()
    gone.away = True
    memory.get("a", source)
    with pytest.raises(MetadataUnavailableError):
        memory.get("b", gone)
    clock.advance(0.6)
    assert [memory.peek("a") for _ in range(50)] == [1] * 50
    REFRESHER.stop()
    assert source.asked == 1


def test_what_can_not_be_read_ahead_waits_for_who_needs_it(memory: TtlCache[str, int], clock: ManualClock) -> None:
    answers = iter([1])
    memory.get("a", lambda _old: next(answers))
    clock.advance(0.6)
    assert memory.peek("a") == 1
    REFRESHER.stop()
    assert memory.peek("a") is None, "the answer is that there is none (StopIteration), which its next reader gets"
    source = Source()
    assert memory.get("a", source) == 1


def test_the_work_of_reading_ahead_is_bounded() -> None:
    refresher = Refresher(size=2)
    started, let_go = threading.Event(), threading.Event()

    def hang() -> None:
        started.set()
        assert let_go.wait(10)

    assert refresher.add(hang)
    assert started.wait(10)
    assert [refresher.add(lambda: None) for _ in range(4)] == [True, True, False, False]
    let_go.set()
    refresher.stop()
    assert refresher.add(lambda: None)
    refresher.stop()


def test_what_has_changed_is_read_again_but_serves_while_the_database_is_away(memory: TtlCache[str, int]) -> None:
    sources = {key: Source() for key in "ab"}
    for key, source in sources.items():
        memory.get(key, source)
    memory.expire(lambda key, value: (key, value) == ("a", 1))
    assert (memory.peek("a"), memory.peek("b")) == (None, 1)
    sources["a"].away = True
    assert memory.get("a", sources["a"]) == 1
    assert memory.peek("a") == 1
    sources["a"].away = False
    forget_outage()
    assert memory.get("a", sources["a"]) == 3


def test_what_is_no_more_serves_nobody_even_while_the_database_is_away(memory: TtlCache[str, int]) -> None:
    source = Source()
    memory.get("a", source)
    memory.drop(lambda key, _value: key == "a")
    source.away = True
    assert memory.peek("a") is None
    with pytest.raises(MetadataUnavailableError):
        memory.get("a", source)


@pytest.mark.parametrize("change", ["expire", "drop"])
def test_an_answer_that_a_change_overtook_is_not_remembered(memory: TtlCache[str, int], change: str) -> None:
    source = Source()

    def read(old: int | None) -> int:
        value = source(old)
        if value == 1:
            getattr(memory, change)(lambda *_entry: True)
        return value

    assert memory.get("a", read) == 1
    assert memory.peek("a") is None
    assert memory.get("a", read) == 2
    assert memory.peek("a") == 2


def test_recent_answers_are_bounded_and_the_old_ones_go_first() -> None:
    now = 0.0
    recent: Recent[int, int] = Recent(10.0, size=3, clock=lambda: now)
    asked = []

    def ask(key: int) -> int:
        return recent.get(key, lambda: asked.append(key) or key)  # type: ignore[func-returns-value]

    for key in range(5):
        now = float(key)
        assert ask(key) == key

    assert [recent.peek(key) for key in range(5)] == [None, None, 2, 3, 4]
    now = 13.5
    ask(9)
    assert [recent.peek(key) for key in (2, 3, 4, 9)] == [None, None, 4, 9], "the old ones are not kept for their place"
    ask(4)
    assert asked == [0, 1, 2, 3, 4, 9]
