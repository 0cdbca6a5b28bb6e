"""Operations that ask the same of one queue share a script call, and nobody can tell."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queues.engine import (
    AckOutcome,
    AsyncEngine,
    InvalidArgumentError,
    Operation,
    PublishOptions,
    StoreFullError,
    ack,
    ack_attempt,
    detail,
    publish,
    size,
)
from queues.engine.constants import CONSUME_BUDGET_BYTES, MERGE_BODY_MAX_BYTES, MERGE_MAX_CALLS
from queues.engine.operations.consume import consume_step, is_again
from queues.engine.transport.merging import merge

from .loop import in_loop, opened
from .world import World


async def _script_calls(engine: AsyncEngine) -> int:
    return int((await engine.client.info("commandstats")).get("cmdstat_evalsha", {"calls": 0})["calls"])


async def _run_together(engine: AsyncEngine, operations: list[Operation[Any]]) -> tuple[list[Any], int]:
    """Results of operations that are run in one turn of the loop, errors included, and the script calls made."""
    before = await _script_calls(engine)
    results = await asyncio.gather(*[engine.run(one) for one in operations], return_exceptions=True)
    return results, await _script_calls(engine) - before


@in_loop
async def test_publishes_with_equal_options_share_a_call_and_each_gets_its_own_id(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        await engine.run(size(queue))
        published, calls = await _run_together(engine, [publish(queue, [b"%d" % n]) for n in range(50)])
        taken = await engine.run(consume_step(queue, ttr_ms=1_000, count=50))

    ids = [one.job_ids[0] for one in published]
    assert calls <= 2  # one more when the script was not loaded yet
    assert len(set(ids)) == 50
    assert [(job.job_id, job.body) for job in taken.jobs] == [(ids[n], b"%d" % n) for n in range(50)]


def test_only_what_is_alike_is_merged(world: World) -> None:
    orders, mails = world.queue, world.engine.queue("shop", "mails")
    three = PublishOptions(tries=3)

    def calls(*operations: Operation[Any]) -> list[list[int]]:
        return [list(call.places) for call in merge(operations)]

    assert calls(publish(orders, [b"a"]), publish(mails, [b"b"]), publish(orders, [b"c"])) == [[0, 2], [1]]
    assert calls(publish(orders, [b"a"]), publish(orders, [b"b"], three), publish(orders, [b"c"], three)) == [
        [0],
        [1, 2],
    ]
    assert calls(publish(orders, [b"a"]), publish(orders, [b"b"], PublishOptions(key="k"))) == [[0], [1]]
    assert calls(publish(orders, [b"a"]), publish(orders, [b"b", b"c"])) == [[0], [1]]
    assert calls(publish(orders, [b"a"]), publish(orders, [b"b"], now_ms=world.now_ms)) == [[0], [1]]
    large = b"x" * (MERGE_BODY_MAX_BYTES + 1)
    assert calls(publish(orders, [b"a"]), publish(orders, [large]), publish(orders, [b"c"])) == [[0, 2], [1]]
    assert calls(consume_step(orders, ttr_ms=1), consume_step(orders, ttr_ms=2), consume_step(orders, ttr_ms=1)) == [
        [0, 2],
        [1],
    ]
    assert calls(consume_step(orders, ttr_ms=1), consume_step(orders, ttr_ms=1, count=2)) == [[0], [1]]
    job_id = "0" * 26
    assert calls(ack_attempt(orders, job_id), ack_attempt(orders, job_id, result=b"1"), ack(orders, [job_id])) == [
        [0],
        [1],
        [2],
    ]


def test_one_call_takes_a_bounded_number_of_operations(world: World) -> None:
    calls = merge([publish(world.queue, [b"x"]) for _ in range(MERGE_MAX_CALLS * 2 + 1)])

    assert [len(call.places) for call in calls] == [MERGE_MAX_CALLS, MERGE_MAX_CALLS, 1]


@in_loop
async def test_consumers_get_jobs_in_the_order_of_their_asking_each_under_its_own_name(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        published = await engine.run(publish(queue, [b"0", b"1", b"2"]))
        consumed, calls = await _run_together(
            engine, [consume_step(queue, ttr_ms=1_000, consumer=f"worker-{n}") for n in range(5)]
        )
        known = [await engine.run(detail(queue, job_id)) for job_id in published.job_ids]

    assert calls <= 2
    assert [one.jobs[0].job_id if one.jobs else None for one in consumed] == [*published.job_ids, None, None]
    assert [one and one.consumer for one in known] == ["worker-0", "worker-1", "worker-2"]


@in_loop
async def test_who_gets_nothing_learns_when_something_is_due(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        await engine.run(publish(queue, [b"now"]))
        await engine.run(publish(queue, [b"later"], PublishOptions(delay_ms=60_000)))
        (first, second), _ = await _run_together(engine, [consume_step(queue, ttr_ms=1_000) for _ in range(2)])

    assert first.jobs[0].body == b"now"
    assert not second.jobs
    assert 59_000 < second.next_due_ms - second.now_ms <= 60_001  # a delay counts from the next millisecond


@in_loop
async def test_who_gets_nothing_because_bodies_were_large_looks_again(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        asked = 2 * CONSUME_BUDGET_BYTES // 1_000_000 + 4
        for _ in range(asked):
            await engine.run(publish(queue, [b"x" * 1_000_000]))
        consumed, _ = await _run_together(engine, [consume_step(queue, ttr_ms=1_000) for _ in range(asked)])

    served = [one for one in consumed if one.jobs]
    assert 0 < len(served) < asked
    assert all(is_again(one) for one in consumed if not one.jobs)


@in_loop
async def test_a_bound_in_flight_holds_for_all_together(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        await engine.run(publish(queue, [b"x"] * 5))
        consumed, _ = await _run_together(
            engine, [consume_step(queue, ttr_ms=1_000, max_in_flight=2) for _ in range(5)]
        )

    assert [len(one.jobs) for one in consumed] == [1, 1, 0, 0, 0]


@in_loop
async def test_acks_share_a_call_and_each_gets_its_own_outcome(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        taken, waiting = (await engine.run(publish(queue, [b"a", b"b"]))).job_ids
        await engine.run(consume_step(queue, ttr_ms=1_000))
        outcomes, calls = await _run_together(
            engine, [ack_attempt(queue, job_id) for job_id in (waiting, "0" * 26, taken, taken)]
        )

    assert calls <= 2
    assert [one.outcome for one in outcomes] == [
        AckOutcome.DELETED,
        AckOutcome.MISSING,
        AckOutcome.ACKED,
        AckOutcome.MISSING,
    ]


@in_loop
async def test_an_error_reaches_everyone_whose_call_it_was(redis_url: str) -> None:
    short = PublishOptions(ttl_ms=1_000, delay_ms=2_000)
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        results, _ = await _run_together(
            engine, [publish(queue, [b"x"], short), publish(queue, [b"y"], short), publish(queue, [b"z"])]
        )
        await engine.client.config_set("maxmemory", 1)
        full, _ = await _run_together(engine, [publish(queue, [b"x"]), publish(queue, [b"y"])])
        await engine.client.config_set("maxmemory", 0)
        left = await engine.run(size(queue))

    assert [type(one) for one in results[:2]] == [InvalidArgumentError, InvalidArgumentError]
    assert results[2].job_ids
    assert [type(one) for one in full] == [StoreFullError, StoreFullError]
    assert left == 1


@in_loop
async def test_a_consumer_that_goes_before_departure_is_not_asked_for(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        await engine.run(publish(queue, [b"x"]))
        going = asyncio.ensure_future(engine.run(consume_step(queue, ttr_ms=60_000)))
        await asyncio.sleep(0)
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
        staying = await engine.run(consume_step(queue, ttr_ms=60_000))

    assert [job.attempt for job in staying.jobs] == [1]


@in_loop
async def test_what_a_consumer_that_has_gone_was_given_is_taken_back(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        await engine.run(publish(queue, [b"x", b"y"]))
        going = [asyncio.ensure_future(engine.run(consume_step(queue, ttr_ms=60_000))) for _ in range(2)]
        for _ in range(100):  # turn by turn, so that the reply cannot have come yet
            if engine.batches > 1:
                break
            await asyncio.sleep(0)
        for one in going:
            one.cancel()
        ready = 0
        while ready < 2:
            ready = await engine.run(size(queue))
        taken = await engine.run(consume_step(queue, ttr_ms=60_000, count=2))

    assert [(job.body, job.attempt, job.used) for job in taken.jobs] == [(b"x", 2, 1), (b"y", 2, 1)]
