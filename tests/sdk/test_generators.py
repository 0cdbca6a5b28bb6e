"""Tasks that yield cursors: where their clean-up runs, and how long a cursor may be."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from queues.engine import JobState
from taskq import App, Context, Job
from taskq.context import CURSOR_MAX_BYTES

from . import process_tasks
from .conftest import until, work, working
from .test_worker import detail, is_gone, is_in

pytestmark = pytest.mark.anyio


async def cursor_of(app: App, job: Job[Any]) -> bytes | None:
    return (await app.broker.arun(app.broker.note("default", job.id))).get("cursor")


async def test_a_synchronous_generator_runs_in_one_thread_with_its_clean_up(app: App) -> None:
    go_on, cleaning, clean = threading.Event(), threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    @app.task
    def walk(ctx: Context) -> Iterator[int]:
        threads.append(threading.current_thread())
        try:
            for number in range(ctx.cursor or 0, 2):
                go_on.wait(20)
                threads.append(threading.current_thread())
                yield number + 1
        finally:
            cleaning.set()
            clean.wait(20)
            threads.append(threading.current_thread())

    job = await walk.aenqueue()
    async with working(app, grace_s=20) as worker:
        await until(lambda: threads, or_fail="it did not begin")
        worker.stop()
        await until(lambda: worker.active[job.id].why, or_fail="the attempt is not told")
        go_on.set()
        await until(cleaning.is_set, or_fail="it does not clean up")
        # The event loop runs, though the clean-up takes its time; and the job is not given back before that is over.
        assert await job.astate() is JobState.WORKING
        clean.set()
    assert len(threads) == 3
    assert len(set(threads)) == 1
    assert threads[0] is not threading.main_thread()
    assert await cursor_of(app, job) == b"1"
    async with working(app):
        await until(lambda: is_gone(job), or_fail="it did not end")
    assert await cursor_of(app, job) == b""


async def test_a_generator_whose_thread_was_left_behind_ends_and_cleans_up_in_it(app: App) -> None:
    go_on, ended = threading.Event(), threading.Event()
    ran: list[Any] = []

    @app.task(timeout=0.05, retry=1)
    def walk() -> Iterator[int]:
        try:
            go_on.wait(20)
            yield 1
            ran.append("the step after")
        finally:
            ran.append(threading.current_thread().name)
            ended.set()

    job = await walk.aenqueue()
    async with working(app) as worker:
        await until(lambda: is_in(job, JobState.DEAD), or_fail="no timeout")
        assert worker.abandoned == 1
        go_on.set()
        await until(ended.is_set, or_fail="it does not clean up")
        await until(lambda: worker.abandoned == 0, or_fail="its thread is not free")
    assert [name.partition("_")[0] for name in ran] == ["taskq"]
    assert await cursor_of(app, job) is None


def test_a_cursor_that_is_too_long_ends_the_job_and_says_so(app: App) -> None:
    @app.task(name="thread")
    def in_thread() -> Iterator[str]:
        yield "small"
        yield "x" * (CURSOR_MAX_BYTES - 2)
        yield "x" * 70_000

    @app.task(name="async")
    async def in_loop() -> AsyncIterator[str]:
        yield "small"
        yield "x" * 70_000

    app.tasks["yield_much"] = process_tasks.yield_much
    jobs: list[Job[Any]] = [in_thread.enqueue(), in_loop.enqueue(), process_tasks.enqueue_yield_much(app)]
    work(app, processes=1)

    for job in jobs:
        found = detail(job)
        assert found.state is JobState.DEAD
        assert found.history[-1].error == "the cursor takes 70,002 bytes, at most 65,536 are kept"
    # The last cursor before it is kept.
    kept = [app.broker.run(app.broker.note("default", job.id))["cursor"] for job in jobs]
    assert [len(cursor) for cursor in kept] == [CURSOR_MAX_BYTES, 7, CURSOR_MAX_BYTES], (
        "the last one that was short enough"
    )
