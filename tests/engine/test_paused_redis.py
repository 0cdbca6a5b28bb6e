"""Redis is paused for longer than callers wait, then carries out what was in its sockets: nobody is left with a job."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis
from hiredis import pack_command

from queues.embedded import EmbeddedRedis
from queues.engine import (
    AsyncEngine,
    PublishOptions,
    QueueKeys,
    RequestLimit,
    StoreUnavailableError,
    ack,
    consume,
    publish,
    stats,
)
from queues.engine.transport import resp_protocol as protocol_module
from queues.engine.transport.redis_internals import KeptConnections
from queues.engine.values import JobState

from .crossing import crossing
from .loop import in_loop, opened, until_it_is_so

TIMEOUT_S = 0.25
JOBS = 6
LIMIT = RequestLimit(token_id="t", kind="read", allowance=JOBS, interval_ms=600_000)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol_module, "REPLY_TIMEOUT_S", TIMEOUT_S)


@pytest.fixture(scope="module")
def own_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedRedis]:
    with EmbeddedRedis(tmp_path_factory.mktemp("paused") / "redis", persistent=False) as server:
        yield server


@contextmanager
def stopped(server: EmbeddedRedis) -> Iterator[None]:
    assert server.pid is not None
    os.kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


@contextmanager
def client_pause(server: EmbeddedRedis) -> Iterator[None]:
    with redis.Redis.from_url(server.url) as admin:
        admin.client_pause(60_000, all=False)
        try:
            yield
        finally:
            admin.client_unpause()


async def outcomes(calls: list[Any]) -> set[type]:
    return {type(outcome) for outcome in await asyncio.gather(*calls, return_exceptions=True)}


async def all_ready(engine: AsyncEngine, *queues: QueueKeys) -> bool:
    found = await engine.batch([stats(queue) for queue in queues])
    counts = [one.counts for one in found]
    return sum(one[JobState.READY] for one in counts) == JOBS and not any(one[JobState.WORKING] for one in counts)


@pytest.mark.parametrize("paused", [stopped, client_pause])
@in_loop
async def test_what_is_consumed_after_the_pause_goes_back_with_its_tries(
    own_redis: EmbeddedRedis, paused: Callable[[EmbeddedRedis], AbstractContextManager[None]]
) -> None:
    async with opened(own_redis.url) as engine:
        one, other = engine.queue("shop", f"one-{paused.__name__}"), engine.queue("shop", f"other-{paused.__name__}")
        bodies = [b"%d" % number for number in range(JOBS)]
        await engine.run(publish(one, bodies[:4], PublishOptions(tries=1)))
        await engine.run(publish(other, bodies[4:], PublishOptions(tries=1)))
        await engine.run(consume(engine.queue("shop", "none"), ttr_ms=1_000))  # the script is known
        with paused(own_redis):
            refused = await outcomes(
                [
                    *[engine.run(consume(one, ttr_ms=600_000)) for _ in range(2)],
                    engine.run(consume(one, ttr_ms=600_000, count=2)),
                    engine.wait_consume([other], ttr_ms=600_000, timeout_s=0, limit=LIMIT),
                    engine.wait_consume([other, one], ttr_ms=600_000, timeout_s=0),
                ]
            )
        assert refused == {StoreUnavailableError}
        await until_it_is_so(lambda: all_ready(engine, one, other), or_fail="jobs are left with nobody")

        delivered = [job for queue in (one, other) for job in (await _take_all(engine, queue))]
        assert [job.body for job in delivered] == bodies
        assert {job.used for job in delivered} == {1}
        assert max(job.attempt for job in delivered) > 1, "nothing was carried out after the pause"


async def _take_all(engine: AsyncEngine, queue: QueueKeys) -> tuple[Any, ...]:
    return (await engine.run(consume(queue, ttr_ms=600_000, count=JOBS))).jobs


@in_loop
async def test_the_connection_is_kept_only_for_replies_that_can_be_undone(tmp_path: Path, redis_url: str) -> None:
    async with crossing(tmp_path, redis_url) as (way, url), opened(url) as engine:
        queue = engine.queue("shop", "orders")
        (job_id,) = (await engine.run(publish(queue, [b"x"], PublishOptions(tries=1)))).job_ids
        await engine.run(consume(engine.queue("shop", "none"), ttr_ms=1_000))
        connection = next(iter(engine._batch_queues.values())).connections[0]
        before = connection._protocol
        assert before is not None

        way.hold_replies()
        assert await outcomes([engine.run(ack(engine.queue("shop", "none"), job_id))]) == {StoreUnavailableError}
        assert before.is_closed, "kept for an ack"

        way.let_replies_pass()
        await engine.run(publish(queue, [b"y"], PublishOptions(tries=1)))
        way.hold_replies()
        assert await outcomes([engine.run(consume(queue, ttr_ms=600_000))]) == {StoreUnavailableError}
        kept = connection._protocol
        assert kept is not None
        assert kept.is_lost
        assert not kept.is_closed

        way.let_replies_pass()
        await until_it_is_so(lambda: _ready(engine, queue, 2), or_fail="the job stays with nobody")
        assert kept.is_closed


async def _ready(engine: AsyncEngine, queue: QueueKeys, jobs: int) -> bool:
    found = await engine.run(stats(queue))
    return found.counts[JobState.READY] == jobs and not found.counts[JobState.WORKING]


@in_loop
async def test_connections_that_wait_for_late_replies_are_few(
    tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queues.engine.transport.redis_connection.LEAVING_MAX", 2)
    async with crossing(tmp_path, redis_url) as (way, url), opened(url) as engine:
        queue = engine.queue("shop", "none")
        for _ in range(4):
            way.let_replies_pass()
            await until_it_is_so(lambda: _works(engine, queue), or_fail="no way back")
            way.hold_replies()
            assert await outcomes([engine.run(consume(queue, ttr_ms=1_000))]) == {StoreUnavailableError}
        connection = next(iter(engine._batch_queues.values())).connections[0]
        assert len(connection._leaving) <= 2
        leaving = [*connection._leaving, connection._protocol]

    assert all(protocol.is_closed for protocol in leaving if protocol is not None)


async def _works(engine: AsyncEngine, queue: QueueKeys) -> bool:
    return not isinstance(*await asyncio.gather(engine.run(stats(queue)), return_exceptions=True), Exception)


class _KeptOpen(redis.UnixDomainSocketConnection):
    """Does not close itself when a reply does not come, like connections that a Sentinel has named."""

    def read_response(self, *arguments: Any, **options: Any) -> Any:
        return super().read_response(*arguments, **options | {"disconnect_on_error": False})


def _blpop(key: str) -> bytes:
    command: Any = ("BLPOP", key, 0)
    packed: bytes = pack_command(command)
    return packed


def test_a_synchronous_caller_never_gets_the_late_reply_to_another_call(own_redis: EmbeddedRedis) -> None:
    pool = redis.ConnectionPool(connection_class=_KeptOpen, path=str(own_redis.unix_socket), socket_timeout=1.0)
    with redis.Redis(connection_pool=pool) as client, redis.Redis.from_url(own_redis.url) as other:
        kept = KeptConnections(client)
        with pytest.raises(redis.TimeoutError):
            kept.ask([_blpop("late")], commands=1)
        with ThreadPoolExecutor() as threads:
            asked = threads.submit(kept.ask, [_blpop("right")], commands=1)
            time.sleep(0.1)  # until it is sent; if that takes longer, the test shows less
            other.rpush("late", "1")
            other.rpush("right", "2")
            assert asked.result() == [[b"right", b"2"]]
