"""How the survey goes round a pool's queues: all of them, in stretches, by one pump at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import redis

from queues.engine import (
    WHOLE_POOL,
    Engine,
    FoundQueue,
    JobState,
    Operation,
    ack,
    consume,
    delete_jobs,
    namespace_minutes,
    open_engine,
    publish,
    read_survey,
    survey,
    unpack_queues,
)
from queues.pump.roles import survey as module
from queues.pump.roles.survey import ROUND_MIN_S, TAKE_AGAIN_S, Survey

BEGIN_MS = 1_999_999_980_000
MINUTE_MS = 60_000
assert BEGIN_MS % MINUTE_MS == 0


@pytest.fixture
def engine(redis_url: str) -> Iterator[Engine]:
    engine = open_engine(redis_url, partitions=3)
    yield engine
    engine.close()


class Pump:
    """A survey under manual clocks: the pump's own, and that of Redis."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.seconds = 0.0
        self.now_ms = BEGIN_MS
        self.survey = Survey(clock=lambda: self.seconds)

    def tick(self) -> int:
        """The number of queues that were looked at."""
        return self.survey.tick(self.engine, self.now_ms).queues

    def round(self) -> int:
        """Ticks until a round is over."""
        self.seconds += ROUND_MIN_S
        ticks = 1
        while self.survey.tick(self.engine, self.now_ms).more:
            ticks += 1
        return ticks

    def found(self) -> dict[str, FoundQueue]:
        contents = self.engine.run(read_survey(now_ms=self.now_ms)).contents
        queues = [queue for name, content in contents.items() for queue in unpack_queues(name, content)]
        return {f"{queue.namespace}/{queue.queue}": queue for queue in queues}


@pytest.fixture
def pump(engine: Engine) -> Pump:
    return Pump(engine)


def put(pump: Pump, namespace: str, queue: str, jobs: int = 1) -> tuple[str, ...]:
    keys = pump.engine.queue(namespace, queue)
    return pump.engine.run(publish(keys, [b"job"] * jobs, now_ms=pump.now_ms)).job_ids


def test_all_queues_of_all_namespaces_are_found(pump: Pump) -> None:
    for number in range(30):
        put(pump, "shop", f"q{number}", jobs=number + 1)
    put(pump, "bank", "loans")
    pump.round()

    found = pump.found()

    assert len(found) == 31
    assert found["shop/q7"].ready == 8
    assert found["bank/loans"].ready == 1
    head = pump.engine.run(read_survey()).head
    assert head is not None
    assert (head.queues, head.left_out, head.taken_at_ms) == (31, 0, BEGIN_MS)
    assert head.store.version


def test_a_queue_whose_jobs_are_taken_as_they_come_is_found_too(pump: Pump) -> None:
    (job_id,) = put(pump, "shop", "quick")
    keys = pump.engine.queue("shop", "quick")
    pump.engine.run(consume(keys, ttr_ms=1_000, now_ms=pump.now_ms))
    pump.engine.run(ack(keys, [job_id], now_ms=pump.now_ms))
    pump.round()

    quick = pump.found()["shop/quick"]

    assert quick.size == 0
    assert quick.acked_per_s == pytest.approx(1 / 60, abs=1e-3)


def test_a_queue_that_is_both_registered_and_active_is_found_once(pump: Pump) -> None:
    put(pump, "shop", "orders")
    pump.round()

    contents = pump.engine.run(read_survey()).contents

    assert len(unpack_queues("shop", contents["shop"])) == 1


def test_many_queues_are_found_page_by_page_and_stretch_by_stretch(pump: Pump, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 5)
    monkeypatch.setattr(module, "STRETCH_FIRST", 7)
    monkeypatch.setattr(module, "PARTITIONS_AT_ONCE", 2)
    pump = Pump(pump.engine)
    for number in range(60):
        put(pump, "shop", f"q{number}")

    assert pump.round() >= 60 // 7
    assert len(pump.found()) == 60


def test_a_long_way_to_redis_makes_no_stretch_shorter(pump: Pump, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tick's share is 4 ms. To subtract no round trip of 5 ms from it would end at the shortest stretch."""
    run, batch = pump.engine.run, pump.engine.batch

    def run_from_afar(work: Any) -> Any:
        pump.seconds += 0.005
        return run(work)

    def batch_from_afar(operations: Sequence[Operation[Any]]) -> list[Any]:
        pump.seconds += 0.005 + 0.0001 * len(operations)
        return batch(operations)

    monkeypatch.setattr(pump.engine, "run", run_from_afar)
    monkeypatch.setattr(pump.engine, "batch", batch_from_afar)
    for number in range(100):
        put(pump, "shop", f"q{number}")
    pump.round()

    assert pump.round() <= 5


def test_between_rounds_nothing_is_asked(pump: Pump, redis_client: redis.Redis) -> None:
    put(pump, "shop", "orders")
    pump.round()
    redis_client.config_resetstat()

    assert pump.tick() == 0

    assert "cmdstat_evalsha" not in redis_client.info("commandstats")


def test_a_namespace_without_queues_is_forgotten(pump: Pump) -> None:
    put(pump, "shop", "orders")
    job_ids = put(pump, "bank", "loans")
    pump.round()
    pump.engine.run(delete_jobs(pump.engine.queue("bank", "loans"), job_ids, now_ms=pump.now_ms))
    pump.now_ms += 11 * MINUTE_MS
    put(pump, "shop", "orders")
    pump.round()

    assert set(pump.found()) == {"shop/orders"}


def test_a_namespace_that_an_earlier_pump_found_is_forgotten(pump: Pump, redis_client: redis.Redis) -> None:
    put(pump, "shop", "orders")
    redis_client.hset("{tqsurvey}:found", "old", b"")
    pump.round()

    assert set(pump.engine.run(read_survey()).contents) == {"shop"}


def test_minutes_add_up_over_the_queues_of_a_namespace_and_of_the_pool(pump: Pump) -> None:
    put(pump, "shop", "orders", jobs=3)
    put(pump, "shop", "mails", jobs=2)
    put(pump, "bank", "loans", jobs=4)
    pump.round()
    pump.now_ms += MINUTE_MS
    pump.round()

    shop, bank, pool = [
        pump.engine.run(namespace_minutes(name, count=1, now_ms=pump.now_ms))[0]
        for name in ("shop", "bank", WHOLE_POOL)
    ]

    assert (shop.published, bank.published, pool.published) == (5, 4, 9)
    assert [minute.jobs and minute.jobs[JobState.READY] for minute in (shop, bank, pool)] == [5, 4, 9]


def test_how_long_jobs_waited_and_ran_adds_up_over_the_queues(pump: Pump) -> None:
    for queue, wait_ms in (("orders", 1_000), ("mails", 8_000)):
        keys = pump.engine.queue("shop", queue)
        job_ids = pump.engine.run(publish(keys, [b"job"] * 3, now_ms=pump.now_ms)).job_ids
        pump.engine.run(consume(keys, ttr_ms=9_000, count=3, now_ms=pump.now_ms + wait_ms))
        pump.engine.run(ack(keys, job_ids, now_ms=pump.now_ms + wait_ms + 200))
    pump.now_ms += MINUTE_MS
    pump.round()

    for name in ("shop", WHOLE_POOL):
        (minute,) = pump.engine.run(namespace_minutes(name, count=1, now_ms=pump.now_ms))
        assert sum(minute.waits.values()) == sum(minute.runs.values()) == 6
        assert minute.measured().wait_ms == pytest.approx((1_000, 8_000, 8_000), rel=0.1)
        assert minute.measured().run_ms == pytest.approx((200,) * 3, rel=0.1)


def test_of_two_pumps_one_surveys_and_the_other_takes_over_when_it_is_silent(
    pump: Pump, redis_client: redis.Redis
) -> None:
    put(pump, "shop", "orders")
    other = Pump(pump.engine)
    pump.round()

    other.round()
    assert other.tick() == 0

    redis_client.delete("{tqsurvey}:turn")  # as it expires
    other.seconds += TAKE_AGAIN_S
    assert other.tick() == 1
    pump.seconds += TAKE_AGAIN_S
    assert pump.tick() == 0


def test_what_two_pumps_survey_at_once_is_counted_once(pump: Pump, redis_client: redis.Redis) -> None:
    put(pump, "shop", "orders", jobs=3)
    pump.now_ms += MINUTE_MS
    other = Pump(pump.engine)
    other.now_ms = pump.now_ms
    pump.round()
    redis_client.delete("{tqsurvey}:turn")
    other.round()

    (minute,) = pump.engine.run(namespace_minutes("shop", count=1, now_ms=pump.now_ms))
    assert minute.published == 3


def test_a_round_that_fails_begins_anew(pump: Pump, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        put(pump, "shop", f"q{number}")

    def fault(*_arguments: object, **_options: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(module, "ask_store_load", fault)
        with pytest.raises(ZeroDivisionError):
            pump.round()
    pump.round()

    assert len(pump.found()) == 3


def test_queues_beyond_the_most_are_counted_but_not_put_down(pump: Pump, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUEUES_PUT_DOWN", 2)
    for number in range(5):
        put(pump, "shop", f"q{number}")
    pump.round()

    head = pump.engine.run(read_survey()).head

    assert head is not None
    assert (len(pump.found()), head.queues, head.left_out) == (2, 5, 3)


def test_a_pool_without_queues_is_surveyed_too(pump: Pump) -> None:
    pump.round()

    head = pump.engine.run(read_survey()).head
    assert head is not None
    assert (head.queues, head.taken_at_ms) == (0, BEGIN_MS)


def test_the_survey_of_a_queue_is_one_call(pump: Pump, redis_client: redis.Redis) -> None:
    put(pump, "shop", "orders")
    pump.engine.run(survey(pump.engine.queue("shop", "orders")))
    redis_client.config_resetstat()

    pump.engine.run(survey(pump.engine.queue("shop", "orders")))

    assert redis_client.info("commandstats")["cmdstat_evalsha"]["calls"] == 1
