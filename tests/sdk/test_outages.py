"""Workers while Redis hangs, is killed and comes back: nothing is lost, and what is done is not done again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from queues.embedded import EmbeddedRedis
from queues.engine import TaskqError, open_engine, reclaim_ended
from taskq import App, Context, Task
from taskq.worker import StopReason

from .conftest import make_worker, until, working

pytestmark = pytest.mark.anyio


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    with EmbeddedRedis(tmp_path, persistent=True) as redis:
        yield redis


@pytest.fixture
def app(redis: EmbeddedRedis) -> Iterator[App]:
    app = App(redis.url, namespace="sdk")
    yield app
    app.broker.close()


async def is_gone(app: App, job_id: str) -> bool:
    try:
        return await app.job("default", job_id).astate() is None
    except TaskqError:
        return False


def waiting_task(app: App) -> tuple[Task[[], Any], list[int], asyncio.Event]:
    """A task that waits for an event; its runs, and the event."""
    runs: list[int] = []
    finish = asyncio.Event()

    @app.task
    async def run() -> None:
        runs.append(1)
        await finish.wait()

    return run, runs, finish


async def test_a_job_that_is_done_while_redis_hangs_is_not_done_again(app: App, redis: EmbeddedRedis) -> None:
    run, runs, finish = waiting_task(app)
    job = await run.aenqueue()
    async with working(app, lease_s=30.0) as worker:
        await until(lambda: runs, or_fail="it did not begin")
        assert redis.pid is not None
        os.kill(redis.pid, signal.SIGSTOP)
        try:
            finish.set()
            await until(lambda: not worker.active, or_fail="the task did not end")
            await asyncio.sleep(5.0)  # the outage that the promise names
        finally:
            os.kill(redis.pid, signal.SIGCONT)
        await until(lambda: is_gone(app, job.id), or_fail="its end was not told")
        await asyncio.sleep(0.3)
    assert runs == [1]


async def test_a_job_that_is_done_while_redis_is_down_is_not_done_again(app: App, redis: EmbeddedRedis) -> None:
    run, runs, finish = waiting_task(app)
    job = await run.aenqueue()
    async with working(app, lease_s=30.0) as worker:
        await until(lambda: runs, or_fail="it did not begin")
        redis.kill()
        finish.set()
        await until(lambda: not worker.active, or_fail="the task did not end")
        await asyncio.sleep(0.5)
        await asyncio.to_thread(redis.start)
        await until(lambda: is_gone(app, job.id), or_fail="its end was not told")
        await run.aenqueue()
        await until(lambda: len(runs) == 2, or_fail="it takes no more jobs")
    assert len(runs) == 2


async def test_jobs_enqueued_and_run_across_a_restart_all_end(app: App, redis: EmbeddedRedis) -> None:
    ran: Counter[int] = Counter()

    @app.task
    async def run(number: int) -> None:
        await asyncio.sleep(0.002)
        ran[number] += 1

    await app.aenqueue_many([run.call(number) for number in range(1_000)])
    async with working(app, concurrency=20, lease_s=5.0):
        await until(lambda: len(ran) > 100, or_fail="they do not run")
        redis.kill()
        await asyncio.sleep(0.3)
        await asyncio.to_thread(redis.start)

        engine = open_engine(redis.url)

        async def all_ran() -> bool:
            # What was delivered when Redis died, and did not arrive, comes back when its lease ends.
            await asyncio.to_thread(engine.run, reclaim_ended(engine.layout))
            return len(ran) == 1_000

        await until(all_ran, or_fail="some were lost", timeout_s=20)
        engine.close()
    assert sum(ran.values()) <= 1_000 + 20, "only what was in flight may run twice"


async def test_a_worker_that_starts_without_redis_waits_for_it(redis: EmbeddedRedis, app: App) -> None:
    ran = asyncio.Event()

    @app.task
    async def run() -> None:
        ran.set()

    await run.aenqueue()
    redis.kill()
    async with working(app) as worker:
        await asyncio.sleep(0.3)
        assert not worker.is_well
        await asyncio.to_thread(redis.start)
        await asyncio.wait_for(ran.wait(), 10)
        assert worker.is_well


async def test_a_worker_that_waits_for_redis_ends_when_it_is_told_to(redis: EmbeddedRedis, app: App) -> None:
    redis.kill()
    worker = make_worker(app)
    running = asyncio.create_task(worker.run())
    await asyncio.sleep(0)  # it has begun to wait
    worker.stop()
    assert await asyncio.wait_for(running, 5) is StopReason.STOPPED


async def test_a_worker_may_be_told_to_stop_before_it_runs(app: App) -> None:
    worker = make_worker(app)
    worker.stop()
    assert await asyncio.wait_for(worker.run(), 5) is StopReason.STOPPED


async def test_what_a_task_says_while_redis_is_down_is_told_afterwards(app: App, redis: EmbeddedRedis) -> None:
    contexts: list[Context] = []
    finish = asyncio.Event()

    @app.task(retention=60)
    async def run(ctx: Context) -> None:
        contexts.append(ctx)
        ctx.log("before")
        await finish.wait()
        ctx.log("at the end")

    job = await run.aenqueue()

    async def told(lines: int) -> tuple[str, ...]:
        with contextlib.suppress(TaskqError):
            log = (await job.aprogress()).log
            return log if len(log) >= lines else ()
        return ()

    async with working(app, lease_s=30.0) as worker:
        await until(lambda: told(1), or_fail="it did not begin")
        redis.kill()
        contexts[0].log("meanwhile")
        await until(lambda: not contexts[0]._lines, or_fail="its line was not taken")
        finish.set()
        await until(lambda: not worker.active, or_fail="the task did not end")
        await asyncio.to_thread(redis.start)
        log = await until(lambda: told(3), or_fail="lines were lost")
    assert log == ("before", "meanwhile", "at the end")
