"""Edge F: consume delivers ready jobs under a lease."""

from __future__ import annotations

from typing import Any

import pytest

from queues.engine import (
    InvalidArgumentError,
    StoreUnavailableError,
    constants,
    consume,
    consume_any,
    detail,
    fail,
    pause,
    resume,
)
from queues.engine.constants import CONSUME_BUDGET_BYTES, SKIP_BATCH
from queues.engine.keys import Layout
from queues.engine.operation import Operation
from queues.engine.operations.consume import consume_step

from .world import START_MS, World


def test_consume_leases_the_oldest_ready_job(world: World) -> None:
    first, second = world.publish(b"1", b"2")
    world.advance(40)

    job = world.take_one(ttr_ms=9_000, consumer="worker-1")

    assert (job.job_id, job.body, job.attempt) == (first, b"1", 1)
    assert world.places() == {first: "working", second: "ready"}
    assert world.state().working == {first: START_MS + 40 + 9_000}
    run = world.state().runs[first]
    assert (run.attempt, run.taken_ms, run.consumer, run.due_ms) == (1, START_MS + 40, "worker-1", START_MS)


def test_consume_of_nothing_changes_nothing(world: World) -> None:
    assert not world.changes(lambda: world.take())
    assert world.take() == ()


def test_consume_promotes_its_own_due_jobs_first(world: World) -> None:
    late = world.publish_one(b"late", delay_ms=20)
    early = world.publish_one(b"early", delay_ms=10)
    ready = world.publish_one(b"ready")
    world.advance(20)

    assert [job.job_id for job in world.take(count=3)] == [ready, early, late]


def test_consume_hands_nothing_out_before_it_is_due(world: World) -> None:
    job_id = world.publish_one(delay_ms=100)
    world.advance(99)

    nothing = world.run(consume(world.queue, ttr_ms=1_000, now_ms=world.now_ms))
    assert (nothing.jobs, nothing.next_due_ms, nothing.now_ms) == ((), START_MS + 100, world.now_ms)
    world.advance(1)
    assert world.take_one().job_id == job_id


def test_after_a_promotion_the_next_due_time_is_the_true_one(world: World) -> None:
    world.publish_one(delay_ms=10)
    world.publish_one(delay_ms=30)
    world.advance(10)
    world.take_one()

    nothing = world.run(consume(world.queue, ttr_ms=1_000, now_ms=world.now_ms))

    assert nothing.next_due_ms == START_MS + 30


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("options", [{}, {"priority": 3}, {"priority": -3}])
def test_an_expired_job_is_never_handed_out(world: World, count: int, options: dict[str, int]) -> None:
    job_id = world.publish_one(ttl_ms=5_000, **options)  # type: ignore[arg-type]
    world.advance(5_000)

    assert world.places() == {job_id: "ready"}
    assert world.take(count=count) == ()
    assert world.places() == {}


def test_a_job_lives_until_the_last_millisecond_of_its_ttl(world: World) -> None:
    world.publish_one(ttl_ms=5_000)
    world.advance(4_999)

    assert world.take_one().ttl_s == 1


def test_a_ttl_of_0_never_ends(world: World) -> None:
    world.publish_one(ttl_ms=0)
    world.advance(10**12)

    assert world.take_one().ttl_s == 0


def test_a_paused_queue_hands_nothing_out(world: World) -> None:
    job_id = world.publish_one()
    world.publish_one(delay_ms=10)
    world.run(pause(world.queue, now_ms=world.now_ms))
    world.advance(20)

    assert not world.changes(lambda: world.take(count=9))
    world.run(resume(world.queue, now_ms=world.now_ms))
    assert world.take_one().job_id == job_id


def test_no_more_than_the_bound_are_in_flight(world: World) -> None:
    world.publish(*[b"x"] * 9)

    assert len(world.take(count=9, max_in_flight=4)) == 4
    assert not world.changes(lambda: world.take(max_in_flight=4))
    assert world.take(count=2, max_in_flight=4) == ()
    assert len(world.take(count=9, max_in_flight=5)) == 1


def test_a_frozen_attempt_burns_no_try(world: World) -> None:
    job_id = world.publish_one(tries=1)

    for attempt in (1, 2, 3):
        job = world.take_one(freeze_tries=True)
        assert (job.job_id, job.attempt, job.remain_tries) == (job_id, attempt, 1)
        world.run(fail(world.queue, job_id, attempt=attempt, now_ms=world.now_ms))
    assert world.take_one().remain_tries == 0


def test_tombstones_are_stepped_over_whatever_their_number(world: World) -> None:
    ids = world.publish(*[b"x"] * (SKIP_BATCH - 1), ttl_ms=5_000)
    more = world.publish(*[b"x"] * 700, ttl_ms=5_000)
    last = world.publish_one(b"alive")
    world.advance(5_000)

    assert world.take_one().job_id == last
    assert world.places() == {last: "working"}
    assert world.state().stats[f"{world.now_ms // 60_000}x"] == len(ids + more)


def test_the_consumers_name_is_one_short_line(world: World) -> None:
    job_id = world.publish_one()

    world.take_one(consumer="a\tb\nc" + "ü" * 60)

    found = world.run(detail(world.queue, job_id, now_ms=world.now_ms))
    assert found is not None
    assert found.consumer == "a b c" + "ü" * 29


@pytest.mark.parametrize("ttr_ms", [0, -1, 2**32 * 1000])
def test_a_lease_out_of_range_is_refused(world: World, ttr_ms: int) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid ttr"):
        world.run(consume(world.queue, ttr_ms=ttr_ms))


@pytest.mark.parametrize("count", [0, -1, 1_001])
def test_a_count_out_of_range_is_refused(world: World, count: int) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid count"):
        world.run(consume(world.queue, ttr_ms=1_000, count=count))


def test_several_queues_are_emptied_in_their_order(world: World) -> None:
    high, low = world.engine.queue("shop", "high"), world.engine.queue("shop", "low")
    for queue, bodies in ((low, (b"l1", b"l2")), (high, (b"h1", b"h2"))):
        World(world.engine, queue).publish(*bodies)

    consumed = world.run(consume_any([high, world.queue, low], ttr_ms=1_000, count=3, now_ms=START_MS))

    assert [(job.queue, job.body) for job in consumed.jobs] == [("high", b"h1"), ("high", b"h2"), ("low", b"l1")]


def test_several_queues_without_a_job_tell_the_earliest_due_time(world: World) -> None:
    queues = [world.engine.queue("shop", name) for name in ("a", "b", "c")]
    World(world.engine, queues[0]).publish_one(delay_ms=900)
    World(world.engine, queues[2]).publish_one(delay_ms=300)

    consumed = world.run(consume_any(queues, ttr_ms=1_000, now_ms=START_MS))

    assert (consumed.jobs, consumed.next_due_ms) == ((), START_MS + 300)


def test_each_queue_keeps_its_own_bound_in_flight(world: World) -> None:
    queues = [world.engine.queue("shop", name) for name in ("a", "b")]
    for queue in queues:
        World(world.engine, queue).publish(b"1", b"2", b"3")

    consumed = world.run(consume_any(queues, ttr_ms=1_000, count=9, max_in_flight=[1, 2], now_ms=START_MS))

    assert [job.queue for job in consumed.jobs] == ["a", "b", "b"]


def test_what_the_first_queue_gave_is_handed_out_though_the_second_fails(world: World) -> None:
    job_id = world.publish_one()
    plan = consume_any([world.queue, world.engine.queue("shop", "other")], ttr_ms=1_000, count=3, now_ms=world.now_ms)
    first = next(plan)
    plan.send(world.engine.batch(first))

    with pytest.raises(StopIteration) as stop:
        plan.throw(StoreUnavailableError("gone"))

    assert [job.job_id for job in stop.value.value.jobs] == [job_id]


def test_an_answer_of_huge_bodies_ends_early(world: World) -> None:
    ids = list(world.publish(*[b"x" * 1_000_000] * 40))

    jobs = world.take(count=40)

    assert [job.job_id for job in jobs] == ids[: len(jobs)]
    assert CONSUME_BUDGET_BYTES <= sum(len(job.body) for job in jobs) < CONSUME_BUDGET_BYTES + 1_000_000
    assert [job.job_id for job in world.take(count=40)] == ids[len(jobs) : 2 * len(jobs)]


def test_huge_bodies_behind_small_ones_come_a_few_at_a_time_too_and_in_order(world: World) -> None:
    small = [b"%d" % number for number in range(20)]
    huge = [b"%d" % number + b"x" * 1_000_000 for number in range(20)]
    for body in [*small, *huge]:
        world.publish(body)

    first = world.take(count=100)
    assert sum(len(job.body) for job in first) < CONSUME_BUDGET_BYTES + 1_000_100
    rest = [job for _ in range(9) for job in world.take(count=100)]

    assert [job.body for job in [*first, *rest]] == [*small, *huge]
    assert set(world.places().values()) == {"working"}


def test_a_call_that_comes_again_is_remembered_unless_its_consumer_has_a_long_name() -> None:
    queue = Layout(1).queue("shop", "orders")

    def step(**changed: Any) -> Operation[Any]:
        return consume_step(queue, **{"ttr_ms": 1_000, "consumer": "worker-1", **changed})

    assert step() is step()
    assert step(consumer="w" * 60_000) is not step(consumer="w" * 60_000)
    assert step(consumer="w" * 60_000).args == step(consumer="w" * 64).args
    assert step().args != step(consumer="worker-2").args != step(ttr_ms=2_000).args
    assert [type(one.args[4]) for one in (step(ttr_ms=2_000.0), step(ttr_ms=2_000))] == [float, int]


def test_a_large_consume_is_several_calls(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = [b"%d" % number for number in range(7)]
    world.publish(*bodies)
    monkeypatch.setattr(constants, "CONSUME_PAGE", 3)
    plan = consume(world.queue, ttr_ms=1_000, count=9, now_ms=world.now_ms)

    operations = next(plan)
    for wanted in (3, 3):
        results = world.engine.batch(operations)
        assert len(results[0].jobs) == wanted
        operations = plan.send(results)
    results = world.engine.batch(operations)
    with pytest.raises(StopIteration) as end:
        plan.send(results)

    assert [job.body for job in end.value.value.jobs] == bodies
