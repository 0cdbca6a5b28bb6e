"""Whoever goes takes nothing along and harms nobody: at every turn of the loop, and while the engine closes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from queues.engine import AsyncEngine, Operation, ack_attempt, publish, release, size
from queues.engine.errors import ScriptError
from queues.engine.operation import Reply
from queues.engine.operations.consume import consume_step
from queues.engine.scripts import load
from queues.engine.transport import merging

from .loop import asleep, in_loop, opened, start_waiting, until, until_it_is_so

TURNS = 40


async def _ready(engine: AsyncEngine, queue: Any, jobs: int) -> bool:
    return await engine.run(size(queue)) == jobs


@in_loop
async def test_in_whatever_turn_a_batch_is_cancelled_its_jobs_come_back(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        await engine.run(publish(queue, [b"x", b"y"]))
        await engine.run(consume_step(engine.queue("shop", "none"), ttr_ms=1_000))
        finished = 0
        for turns in range(TURNS):
            steps = [consume_step(queue, ttr_ms=600_000) for _ in range(2)]
            task = asyncio.create_task(engine.batch(steps))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            try:
                consumed = await task
            except asyncio.CancelledError:
                pass
            else:
                finished += 1
                for one in consumed:
                    await engine.run(release(queue, one.jobs[0].job_id))
            await until_it_is_so(lambda: _ready(engine, queue, 2), or_fail=f"lost when cancelled after {turns} turns")

    assert finished < TURNS


@in_loop
async def test_jobs_of_those_who_go_while_the_engine_closes_come_back(redis_url: str) -> None:
    async with opened(redis_url) as other:
        for turns in range(TURNS):
            engine_opened = opened(redis_url)
            engine = await engine_opened.__aenter__()
            queues = [engine.queue("shop", f"q{turns}"), engine.queue("shop", f"r{turns}")]
            for queue in queues:
                await engine.run(publish(queue, [b"x"]))
            calls = [
                asyncio.create_task(engine.run(consume_step(queues[0], ttr_ms=600_000))),
                asyncio.create_task(engine.wait_consume(queues[::-1], ttr_ms=600_000, count=2, timeout_s=0)),
            ]
            for _ in range(turns):
                await asyncio.sleep(0)
            closing = asyncio.create_task(engine.close())
            await asyncio.sleep(0)
            for call in calls:
                call.cancel()
            results = await asyncio.gather(*calls, return_exceptions=True)
            await closing
            got = sum(len(one.jobs) for one in results if not isinstance(one, BaseException))
            left = sum([await other.run(size(other.queue("shop", queue.queue))) for queue in queues])

            assert got + left == 2, f"cancelled after {turns} turns"


@in_loop
async def test_a_wake_up_of_one_who_goes_is_for_the_next(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queues.engine.constants.FALLBACK_POLL_S", 60.0)
    async with opened(redis_url) as engine, opened(redis_url) as other:
        for turns in range(6):
            queue = engine.queue("shop", f"q{turns}")
            (going,) = await start_waiting(engine, queue)
            (staying,) = await start_waiting(engine, [queue, engine.queue("shop", "elsewhere")])
            await other.run(publish(other.queue("shop", queue.queue), [b"x"]))
            await until(lambda: asleep(engine) < 2, or_fail="nobody is woken")
            for _ in range(turns):
                await asyncio.sleep(0)
            going.cancel()
            got = await asyncio.gather(going, return_exceptions=True)
            if isinstance(got[0], asyncio.CancelledError):
                assert (await asyncio.wait_for(staying, 5)).jobs, f"cancelled after {turns} turns"
            else:
                staying.cancel()
                await asyncio.gather(staying, return_exceptions=True)


@in_loop
async def test_an_argument_that_no_command_can_carry_fails_alone(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        fine = publish(queue, [b"1"])
        bad = release(queue, "\ud800")
        results = await asyncio.gather(*[engine.run(one) for one in (fine, bad, size(queue))], return_exceptions=True)

        assert results[0].job_ids  # type: ignore[union-attr]
        assert isinstance(results[1], ScriptError)
        assert results[2] == 1


@in_loop
async def test_a_job_id_that_cannot_be_does_not_harm_those_who_ack_at_the_same_time(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        (job_id,) = (await engine.run(publish(queue, [b"1"]))).job_ids
        ended = await asyncio.gather(*[engine.run(ack_attempt(queue, one)) for one in (job_id, "\ud800")])

    assert [one.outcome.value for one in ended] == ["deleted", "missing"]


def test_a_reply_that_nobody_can_read_is_an_error_to_its_own_callers() -> None:
    def combine(parts: Sequence[Operation[Any]]) -> Operation[list[Reply]]:
        return replace(parts[0], decode=lambda reply: [reply] * int(reply))

    plain = Operation(load("size"), (), (), int)
    twins = [replace(plain, merge_key=(combine, "twins")) for _ in range(2)]
    calls = merging.merge([plain, *twins])

    for reply in (b"?", b"3"):
        said = merging.spread(calls, [b"7", reply], 3)
        assert said[0] == b"7"
        assert all(isinstance(one, Exception) for one in said[1:])
