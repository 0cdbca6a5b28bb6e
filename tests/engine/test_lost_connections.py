"""The n-th call to Redis fails, before or after its effect: nothing is torn, and who tries again loses no job."""

from __future__ import annotations

from typing import Any

import pytest

from queues.engine import (
    Engine,
    InvalidArgumentError,
    JobNotFoundError,
    LeaseLostError,
    Operation,
    PublishOptions,
    StoreUnavailableError,
    ack_attempt,
    consume,
    destroy,
    extend,
    fail,
    promote_due,
    publish,
    reclaim_ended,
    release,
    republish,
    respawn,
    sweep,
)
from queues.engine.constants import DELETE_BATCH
from queues.engine.operations.maintain import promote
from queues.engine.scripts import load

from .flaky import MOMENTS, FlakyClient
from .state import check, dump
from .world import START_MS, TTR_MS, World

CALLS_MAX = 60


class Shift:
    """A day in the life of a queue, by a client that repeats what failed."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.queue = engine.queue("shop", "orders")
        self.now_ms = START_MS
        self.failures = 0
        self.published: set[bytes] = set()
        self.ended: set[bytes] = set()

    def insist(self, make: Any) -> Any:
        """Run the work, again if the connection was lost. What a repetition finds done already is fine."""
        while True:
            try:
                return self.engine.run(make())
            except StoreUnavailableError:
                self.failures += 1
                check(self.engine.client.client)
            except (LeaseLostError, JobNotFoundError):
                assert self.failures, "a lease was lost without any failure"
                return None

    def publish(self, *bodies: bytes, **options: Any) -> None:
        self.insist(lambda: publish(self.queue, bodies, PublishOptions(**options), now_ms=self.now_ms))
        self.published |= set(bodies)

    def take(self, count: int) -> Any:
        return self.insist(lambda: consume(self.queue, ttr_ms=TTR_MS, count=count, now_ms=self.now_ms)).jobs

    def finish(self, job: Any) -> None:
        self.insist(lambda: ack_attempt(self.queue, job.job_id, attempt=job.attempt, now_ms=self.now_ms))
        self.ended.add(job.body)

    def ticks(self) -> None:
        for tick in (promote_due, reclaim_ended, sweep):
            self.insist(lambda tick=tick: tick(self.engine.layout, now_ms=self.now_ms))

    def work(self) -> None:
        self.publish(b"1", b"2", b"3", tries=9)
        self.publish(b"4", delay_ms=1_000, tries=9)
        self.publish(b"5", priority=3, tries=9, key="five")
        jobs = self.take(4)
        for job in jobs[:1]:
            self.insist(lambda job=job: extend(self.queue, job.job_id, ttr_ms=90_000, now_ms=self.now_ms))
            self.finish(job)
        for job in jobs[1:2]:
            self.insist(lambda job=job: fail(self.queue, job.job_id, attempt=job.attempt, now_ms=self.now_ms))
        for job in jobs[2:3]:
            self.insist(lambda job=job: release(self.queue, job.job_id, attempt=job.attempt, now_ms=self.now_ms))
        self.now_ms += TTR_MS
        self.ticks()
        for _ in range(40):
            for job in self.take(3):
                self.finish(job)
            self.now_ms += TTR_MS
            self.ticks()
            if not check(self.engine.client.client).queue("shop/orders").jobs:
                return
        raise AssertionError("the queue does not come to its end")


@pytest.mark.parametrize("moment", MOMENTS)
def test_wherever_the_connection_is_lost_no_published_job_is(engine: Engine, moment: str) -> None:
    failed = 0
    for failing_call in range(1, CALLS_MAX):
        engine.client.flushall()
        engine.client.hset("taskq:meta", mapping={"partitions": engine.layout.partitions, "layout": 1})
        shift = Shift(Engine(FlakyClient(engine.client, failing_call=failing_call, moment=moment), engine.layout))
        shift.work()
        assert shift.published == {b"1", b"2", b"3", b"4", b"5"}
        assert shift.ended == shift.published, f"call {failing_call}"
        failed += shift.failures
        if not shift.failures:
            break
    assert failed > 15


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_republish_that_is_cut_off_has_happened_whole_or_not_at_all(world: World, moment: str) -> None:
    old = world.publish_one(b"old")
    flaky = Engine(FlakyClient(world.client, failing_call=1, moment=moment), world.engine.layout)
    world.client.script_load(load("republish").source)

    with pytest.raises(StoreUnavailableError):
        flaky.run(republish(world.queue, old, b"new", now_ms=world.now_ms))

    (body,) = [record.body for record in world.state().jobs.values()]
    assert body == (b"new" if moment in ("after", "unread") else b"old")


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("failing_call", [1, 2, 3])
def test_a_long_operation_that_is_cut_off_can_be_repeated(world: World, moment: str, failing_call: int) -> None:
    jobs = 6 * DELETE_BATCH
    for _ in range(6):
        world.publish(*[b"x"] * DELETE_BATCH)
    flaky = Engine(FlakyClient(world.client, failing_call=failing_call, moment=moment), world.engine.layout)

    with pytest.raises(StoreUnavailableError):
        flaky.run(destroy(world.queue, now_ms=world.now_ms))
    assert len(world.places()) in range(0, jobs + 1, DELETE_BATCH)
    flaky.run(destroy(world.queue, now_ms=world.now_ms))

    assert world.places() == {}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_batch_that_is_cut_off_says_so_and_tears_nothing(world: World, moment: str) -> None:
    flaky = Engine(FlakyClient(world.client, failing_call=1, moment=moment), world.engine.layout)
    operations = [publish(world.queue, [b"%d" % number], now_ms=world.now_ms) for number in range(6)]
    world.client.script_load(operations[0].script.source)

    with pytest.raises(StoreUnavailableError):
        flaky.batch(operations)

    assert len(world.places()) == {"before": 0, "after": 6, "half-way": 3, "unread": 6}[moment]


def test_one_failing_operation_does_not_keep_the_rest_of_its_batch_from_running(world: World) -> None:
    job_id = world.job_in("dead")
    operations: list[Operation[Any]] = [
        publish(world.queue, [b"1"], now_ms=world.now_ms),
        fail(world.queue, job_id, now_ms=world.now_ms),
        publish(world.queue, [b"x"], PublishOptions(ttl_ms=1, delay_ms=2), now_ms=world.now_ms),
        publish(world.queue, [b"2"], now_ms=world.now_ms),
    ]

    with pytest.raises(LeaseLostError):
        world.engine.batch(operations)

    assert [job.body for job in world.take(count=9)] == [b"1", b"2"]


def test_a_plan_sees_the_error_of_its_step(world: World) -> None:
    with pytest.raises(InvalidArgumentError):
        world.run(respawn(world.queue, limit=1, ids=["x"], ttl_ms=1))
    flaky = Engine(FlakyClient(world.client, failing_call=1, moment="before"), world.engine.layout)
    with pytest.raises(StoreUnavailableError):
        flaky.run(respawn(world.queue, limit=1, ttl_ms=1))


def test_scripts_that_redis_has_forgotten_are_loaded_again(world: World) -> None:
    for _ in range(2):
        world.client.script_flush()
        world.publish_one()
    world.client.script_flush()
    assert len(world.take(count=9)) == 2


def test_a_batch_whose_scripts_are_forgotten_gives_its_results_in_order(world: World) -> None:
    known = publish(world.queue, [b"known"], now_ms=world.now_ms)
    world.client.script_flush()
    world.client.script_load(known.script.source)

    first, promoted, second = world.engine.batch(
        [known, promote(world.queue, now_ms=world.now_ms), publish(world.queue, [b"2"], now_ms=world.now_ms)]
    )

    assert (first.duplicate, promoted.jobs, second.duplicate) == (False, 0, False)
    assert len(world.places()) == 2


def test_nothing_is_left_behind_by_a_shift_without_failures(engine: Engine) -> None:
    shift = Shift(Engine(FlakyClient(engine.client, failing_call=0, moment="before"), engine.layout))
    shift.work()

    kinds = {key.rpartition(b":")[2] for key in dump(engine.client)}
    assert kinds <= {b"meta", b"events", b"counters", b"stats", b"keys", b"queues", b"active", b"flags", b"sweeps"}
