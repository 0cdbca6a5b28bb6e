"""Waiting for the result of a job."""

from __future__ import annotations

import asyncio
import time

import pytest

from queues.engine import Engine, JobState, PublishOptions, ack, ack_attempt, delete_jobs, fail, publish
from queues.engine.operations.consume import consume

from .loop import in_loop, opened, until
from .test_ack import UNKNOWN
from .test_waiting import only_messages
from .world import World

__all__ = ["only_messages"]


@pytest.fixture
def shop(engine: Engine) -> World:
    return World(engine, engine.queue("shop", "orders"))


def start(shop: World, *, retention_ms: int = 60_000) -> str:
    """A job that somebody works on, by the server's clock."""
    (job_id,) = shop.run(publish(shop.queue, [b"x"], PublishOptions(retention_ms=retention_ms))).job_ids
    shop.run(consume(shop.queue, ttr_ms=60_000))
    return job_id


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_everybody_who_waits_gets_the_result_when_it_is_there(shop: World, redis_url: str) -> None:
    job_id = start(shop)
    async with opened(redis_url) as engine:
        waiting = [asyncio.create_task(engine.wait_result(shop.queue, job_id, timeout_s=20)) for _ in range(5)]
        await until(
            lambda: len(engine._waiters.results._of_job.get(job_id.encode(), ())) == 5, or_fail="they do not wait"
        )
        shop.run(ack_attempt(shop.queue, job_id, attempt=1, result=b"42"))

        found = await asyncio.gather(*waiting)

        assert [(result.state, result.body) for result in found] == [(JobState.COMPLETED, b"42")] * 5
        assert engine._waiters.results._of_job == {}


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_who_waits_is_told_of_the_job_s_death(shop: World, redis_url: str) -> None:
    job_id = start(shop)
    async with opened(redis_url) as engine:
        waiting = asyncio.create_task(engine.wait_result(shop.queue, job_id, timeout_s=20))
        await until(lambda: job_id.encode() in engine._waiters.results._of_job, or_fail="nobody waits")
        shop.run(fail(shop.queue, job_id, error="no such order"))

        assert (await waiting).state is JobState.DEAD


@in_loop
async def test_a_result_that_is_there_is_answered_at_once(shop: World, redis_url: str) -> None:
    job_id = start(shop)
    shop.run(ack_attempt(shop.queue, job_id, result=b""))
    async with opened(redis_url) as engine:
        found = await engine.wait_result(shop.queue, job_id, timeout_s=20)

    assert (found.state, found.body) == (JobState.COMPLETED, b"")


@in_loop
async def test_an_unknown_job_is_not_waited_for(shop: World, redis_url: str) -> None:
    async with opened(redis_url) as engine:
        assert (await engine.wait_result(shop.queue, UNKNOWN, timeout_s=20)).state is None


@pytest.mark.parametrize("timeout_s", [0, 0.1])
@in_loop
async def test_who_waits_in_vain_is_told_where_the_job_is(shop: World, redis_url: str, timeout_s: float) -> None:
    job_id = start(shop)
    async with opened(redis_url) as engine:
        started = time.monotonic()
        found = await engine.wait_result(shop.queue, job_id, timeout_s=timeout_s)

        assert (found.state, found.body) == (JobState.WORKING, None)
        assert timeout_s <= time.monotonic() - started < 5.0


@pytest.mark.parametrize("end", ["deleted", "acked without a retention"])
@in_loop
async def test_a_job_that_goes_away_is_noticed_at_the_next_look(shop: World, redis_url: str, end: str) -> None:
    job_id = start(shop, retention_ms=0 if "without" in end else 60_000)
    async with opened(redis_url) as engine:
        waiting = asyncio.create_task(engine.wait_result(shop.queue, job_id, timeout_s=20))
        await until(lambda: job_id.encode() in engine._waiters.results._of_job, or_fail="nobody waits")
        if end == "deleted":
            shop.run(delete_jobs(shop.queue, [job_id]))
        else:
            shop.run(ack(shop.queue, [job_id]))

        assert (await waiting).state is None


@in_loop
async def test_a_cancelled_waiter_leaves_nothing(shop: World, redis_url: str) -> None:
    job_id = start(shop)
    async with opened(redis_url) as engine:
        waiting = asyncio.create_task(engine.wait_result(shop.queue, job_id, timeout_s=20))
        await until(lambda: job_id.encode() in engine._waiters.results._of_job, or_fail="nobody waits")
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

        assert engine._waiters.results._of_job == {}
