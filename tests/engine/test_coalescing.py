"""AsyncEngine: the calls of one turn of the loop share a round trip."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from queues.embedded import EmbeddedRedis
from queues.engine import (
    Engine,
    InvalidArgumentError,
    LeaseLostError,
    Operation,
    PublishOptions,
    StoreUnavailableError,
    consume,
    destroy,
    fail,
    peek,
    publish,
    size,
)
from queues.engine.transport import batch_queue
from queues.engine.transport.batch_queue import BATCH_MAX, IN_FLIGHT_MAX
from queues.engine.transport.redis_connection import RedisConnection
from queues.engine.transport.resp_protocol import LateReplies

from .loop import in_loop, opened, until
from .test_ack import UNKNOWN
from .world import World


class Batches:
    """Counts what an engine sends: the number of commands of each batch, and how many were under way at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: list[int] = []
        self.under_way = self.most_under_way = 0
        self.may_go = asyncio.Event()
        self.may_go.set()
        self._call = RedisConnection.call
        monkeypatch.setattr(RedisConnection, "call", self._counted())

    def _counted(self) -> Any:
        async def call(
            connection: RedisConnection, packed: Sequence[bytes], late: LateReplies | None = None, *, commands: int = 0
        ) -> list[Any]:
            self.sizes.append(commands or len(packed))
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
            await self.may_go.wait()
            try:
                return await self._call(connection, packed, late, commands=commands)
            finally:
                self.under_way -= 1

        return call


@in_loop
async def test_the_calls_of_one_turn_are_one_round_trip(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        await engine.run(publish(queue, [b"first"]))
        await engine.run(size(queue))
        counted = Batches(monkeypatch)

        others = [engine.queue("shop", f"q{number}") for number in range(100)]
        calls: list[Operation[Any]] = [*[publish(other, [b"x"]) for other in others], size(queue)]
        await asyncio.gather(*[engine.run(call) for call in calls])

    assert counted.sizes == [101]


@in_loop
async def test_results_come_to_those_who_asked(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queues = [engine.queue("shop", f"q{number}") for number in range(60)]
        await asyncio.gather(*[engine.run(publish(queue, [queue.name])) for queue in queues])

        jobs = await asyncio.gather(*[engine.run(consume(queue, ttr_ms=1_000)) for queue in queues])

    assert [found.jobs[0].body for found in jobs] == [queue.name for queue in queues]


@in_loop
async def test_batches_are_bounded_in_length_and_number(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        await engine.run(size(queue))
        counted = Batches(monkeypatch)

        found = await asyncio.gather(*[engine.run(size(queue)) for _ in range(BATCH_MAX * 7 + 5)])

    assert found == [0] * (BATCH_MAX * 7 + 5)
    assert sorted(counted.sizes) == [5, *[BATCH_MAX] * 7]
    assert counted.most_under_way == IN_FLIGHT_MAX


@asynccontextmanager
async def held_up(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Batches, Callable[[], asyncio.Task[int]]]]:
    """An engine whose replies do not come until they `may_go`, and what calls it."""
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        await engine.run(size(queue))
        counted = Batches(monkeypatch)
        counted.may_go.clear()
        yield counted, lambda: asyncio.create_task(engine.run(size(queue)))


@in_loop
async def test_while_batches_are_under_way_calls_gather_into_the_next(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held_up(redis_url, monkeypatch) as (counted, call):
        calls = []
        for _ in range(400):
            calls.append(call())
            await asyncio.sleep(0)
        counted.may_go.set()
        await asyncio.gather(*calls)

    assert sum(counted.sizes) == 400
    assert len(counted.sizes) == IN_FLIGHT_MAX + 1, "one batch holds all that came while others were under way"


@in_loop
async def test_fewer_calls_than_are_under_way_gather_for_a_moment(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_queue, "GATHER_MAX_S", 0.5)  # three turns of the loop may take more than the usual
    async with held_up(redis_url, monkeypatch) as (counted, call):
        calls = [call() for _ in range(10)]
        await asyncio.sleep(0)
        for _ in range(3):
            calls.append(call())
            await asyncio.sleep(0)
        await until(lambda: sum(counted.sizes) == 13, or_fail="they wait for replies")
        counted.may_go.set()
        await asyncio.gather(*calls)

    assert counted.sizes == [10, 3]


@in_loop
async def test_one_failing_call_fails_alone(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")

        results = await asyncio.gather(
            engine.run(publish(queue, [b"1"])),
            engine.run(fail(queue, UNKNOWN, attempt=1)),
            engine.run(publish(queue, [b"2"], PublishOptions(ttl_ms=1, delay_ms=2))),
            engine.client.hset(queue.select(("dead",))[0], "not", "a zset"),
            engine.run(size(queue)),
            return_exceptions=True,
        )
        left = await engine.run(size(queue))

    assert isinstance(results[1], Exception)
    assert isinstance(results[2], InvalidArgumentError)
    assert (results[4], left) == (1, 1)


@in_loop
async def test_a_batch_raises_its_first_error_after_all_have_run(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        (job_id,) = (await engine.run(publish(queue, [b"1"]))).job_ids

        with pytest.raises(LeaseLostError):
            await engine.batch([fail(queue, job_id), publish(queue, [b"2"])])
        assert await engine.batch([size(queue), size(queue)]) == [2, 2]


@in_loop
async def test_plans_run_to_their_end(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        for _ in range(3):
            await engine.run(publish(queue, [b"x"] * 400))

        assert (await engine.run(peek(queue))) is not None
        assert await engine.run(destroy(queue)) == 1_200
        with pytest.raises(InvalidArgumentError):
            await engine.run(consume(queue, ttr_ms=0))


@in_loop
async def test_a_cancelled_caller_does_not_harm_the_others(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        calls = [asyncio.create_task(engine.run(publish(queue, [b"%d" % number]))) for number in range(20)]
        await asyncio.sleep(0)
        for call in calls[::2]:
            call.cancel()

        results = await asyncio.gather(*calls, return_exceptions=True)

        assert all(isinstance(result, asyncio.CancelledError) for result in results[::2])
        assert all(len(result.job_ids) == 1 for result in results[1::2])  # type: ignore[union-attr]
        assert await engine.run(size(queue)) in range(10, 21)


@in_loop
async def test_scripts_that_redis_has_forgotten_are_loaded_again(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        for _ in range(2):
            await engine.client.script_flush()
            calls: list[Operation[Any]] = [*[publish(queue, [b"%d" % number]) for number in range(5)], size(queue)]
            results = await asyncio.gather(*[engine.run(call) for call in calls])
            assert [len(result.job_ids) for result in results[:5]] == [1] * 5

        assert len((await engine.run(consume(queue, ttr_ms=1_000, count=99))).jobs) == 10


@in_loop
async def test_both_engines_see_the_same(engine: Engine, redis_url: str) -> None:
    world = World(engine, engine.queue("shop", "orders"))
    job_id = world.publish_one(b"x")
    async with opened(redis_url) as other:
        job = (await other.run(consume(other.queue("shop", "orders"), ttr_ms=1_000, now_ms=world.now_ms))).jobs[0]

    assert (job.job_id, world.places()) == (job_id, {job_id: "working"})


@in_loop
async def test_a_closed_engine_refuses(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")

    with pytest.raises(StoreUnavailableError, match="closed"):
        await engine.run(size(queue))


@in_loop
async def test_closing_lets_what_was_asked_finish(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        calls = [asyncio.create_task(engine.run(publish(queue, [b"x"]))) for _ in range(BATCH_MAX * 5)]
        await asyncio.sleep(0)

    assert len(await asyncio.gather(*calls)) == BATCH_MAX * 5


@in_loop
async def test_everybody_is_told_when_redis_goes_and_served_when_it_is_back(tmp_path: Path) -> None:
    server = EmbeddedRedis(tmp_path, persistent=True)
    server.start()
    try:
        async with opened(server.url) as engine:
            queue = engine.queue("shop", "orders")
            await engine.run(publish(queue, [b"kept"]))
            server.kill()

            results = await asyncio.gather(*[engine.run(size(queue)) for _ in range(30)], return_exceptions=True)
            assert all(isinstance(result, StoreUnavailableError) for result in results)

            server.start()
            await until(lambda: server.pid is not None, or_fail="the server does not start")
            assert (await engine.run(consume(queue, ttr_ms=1_000))).jobs[0].body == b"kept"
    finally:
        server.stop()


@in_loop
async def test_callers_get_the_error_of_a_server_that_cannot_be_chosen(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        await engine.run(size(queue))

        def no_server(_operations: object) -> None:
            raise RuntimeError("no node is known")

        with monkeypatch.context() as patch:
            patch.setattr(engine._routes, "split", no_server)
            calls = [engine.run(size(queue)) for _ in range(3)]
            async with asyncio.timeout(5):
                errors = await asyncio.gather(*calls, return_exceptions=True)

        assert [str(error) for error in errors] == ["no node is known"] * 3
        assert await engine.run(size(queue)) == 0
