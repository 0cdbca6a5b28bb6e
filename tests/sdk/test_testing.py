"""What users test their tasks with."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from queues.engine import JobState
from taskq import App, Context, JobFailedError, RetryPolicy, Snooze
from taskq.testing import assert_enqueued, assert_not_enqueued, inline, manual, private_redis, running_worker

pytestmark = pytest.mark.anyio


@pytest.fixture
def app() -> App:
    return App("redis://127.0.0.1:1/0")  # nothing may be sent there


def test_inline_runs_at_once_with_arguments_as_they_would_come(app: App) -> None:
    seen: list[Any] = []

    @app.task
    def close(ctx: Context, order: int, at: datetime) -> str:
        seen.append((order, at, ctx.job_id))
        follow.enqueue(order)
        return f"closed {order}"

    @app.task
    async def follow(order: int) -> None:
        seen.append(order)

    @app.task
    def other() -> None: ...

    at = datetime(2026, 1, 1, tzinfo=UTC)
    with inline(app) as mode:
        assert close.enqueue(7, at=at).result() == "closed 7"
        assert_enqueued(mode, close, 7, at=at)
        assert_enqueued(mode, follow, 7)
        assert_not_enqueued(mode, other)
        with pytest.raises(AssertionError, match=r"was not enqueued with \(\[8\]"):
            assert_enqueued(mode, follow, 8)
        with pytest.raises(AssertionError, match="was enqueued"):
            assert_not_enqueued(mode, follow)
    assert seen == [(7, at, "inline-1"), 7]


async def test_inline_within_an_event_loop_and_what_a_task_raises(app: App) -> None:
    @app.task
    async def fail() -> None:
        raise ValueError("no")

    with inline(app):
        with pytest.raises(ValueError, match="no"):
            await fail.aenqueue()
        with pytest.raises(ValueError, match="no"):
            fail.enqueue()


def test_manual_runs_by_its_own_clock(app: App) -> None:
    ran: list[str] = []

    @app.task(retry=RetryPolicy(tries=3, backoff="fixed:600"))
    def unreliable(ctx: Context) -> None:
        ran.append(f"try {ctx.attempt}")
        if ctx.attempt < 3:
            raise ValueError("not yet")

    @app.task
    def remind(name: str) -> None:
        ran.append(name)

    with manual(app) as mode:
        unreliable.enqueue()
        remind.using(delay=timedelta(days=3)).enqueue("three days")
        assert_enqueued(mode, remind, "three days")
        assert mode.run_ready() == 1
        assert ran == ["try 1"]
        mode.travel(599)
        assert ran == ["try 1"]
        mode.travel(2)
        assert ran == ["try 1", "try 2"]
        assert len(mode.jobs("retry")) == 1
        assert mode.travel(3 * 86_400) == 2
        assert ran == ["try 1", "try 2", "try 3", "three days"]
        assert mode.jobs() == []


def test_manual_keeps_results_and_errors_and_honours_keys(app: App) -> None:
    @app.task(retention=60)
    def add(a: int, b: int) -> int:
        return a + b

    @app.task(retry=1)
    def fail() -> None:
        raise ValueError("no")

    @app.task(key="order-{number}")
    def once(number: int) -> None: ...

    with manual(app) as mode:
        job, bad = add.enqueue(1, 2), fail.enqueue()
        assert not once.enqueue(1).is_duplicate
        assert once.enqueue(1).is_duplicate
        assert not once.enqueue(2).is_duplicate
        mode.run_ready()
        assert job.result() == 3
        with pytest.raises(JobFailedError, match="ValueError: no"):
            bad.result()
        assert not once.enqueue(1).is_duplicate, "the first is done"
        assert [job.state for job in mode.jobs("dead")] == [JobState.DEAD]


def test_a_task_that_never_gets_anywhere_is_noticed(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskq.testing.RUNS_MAX", 20)

    @app.task
    def again() -> None:
        raise Snooze(0)

    with manual(app) as mode:
        again.enqueue()
        with pytest.raises(Exception, match="more than 20 attempts"):
            mode.run_ready()


async def test_a_real_worker_beside_the_test() -> None:
    with private_redis() as redis:
        app = App(redis.url)

        @app.task(retention=60)
        async def add(a: int, b: int) -> int:
            await asyncio.sleep(0)
            return a + b

        async with running_worker(app):
            assert await (await add.aenqueue(1, 2)).aresult(timeout=5) == 3
        app.broker.close()
