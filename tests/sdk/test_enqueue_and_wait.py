"""Synchronous calls: enqueue a task, and get what it returns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from queues.engine import JobState
from taskq import App
from taskq.errors import JobFailedError, ResultTimeoutError
from taskq.outcomes import Cancel
from taskq.testing import inline

from .conftest import working

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["sync", "async"])
def call(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """A call from asyncio."""
    if request.param == "sync":
        return lambda task, *args: asyncio.to_thread(task.enqueue_and_wait, *args)
    return lambda task, *args: task.aenqueue_and_wait(*args)


async def test_the_caller_gets_what_the_task_returns(app: App, call: Any) -> None:
    @app.task
    def double(number: int) -> dict[int, int]:
        return {number: 2 * number}

    async with working(app):
        assert await call(double, 21) == {21: 42}
        assert await call(double.using(retention=3_600, wait=20), 4) == {4: 8}

    kept = {
        round((job.retention_ms or 0) / 1000)
        for job in app.broker.run(app.broker.jobs("default", JobState.COMPLETED, after=None, limit=9)).jobs
    }
    assert kept == {60, 3_600}


async def test_the_caller_gets_the_error(app: App, call: Any) -> None:
    @app.task(retry=1)
    def fail() -> None:
        raise Cancel("no such order")

    async with working(app):
        with pytest.raises(JobFailedError, match="no such order"):
            await call(fail)


async def test_a_caller_that_waits_in_vain_is_told_which_job_goes_on(app: App, call: Any) -> None:
    @app.task(name="later")
    def later() -> int:
        return 42

    with pytest.raises(ResultTimeoutError, match=r"has not ended after 0\.1 s, and goes on") as caught:
        await call(later.using(wait=0.1))
    async with working(app):
        assert await app.job("default", caught.value.job_id).aresult(10) == 42


async def test_under_test_the_task_runs_inline(call: Any) -> None:
    app = App("redis://127.0.0.1:1/0")  # nothing may be sent there

    @app.task
    def double(number: int) -> int:
        return 2 * number

    with inline(app):
        assert await call(double, 21) == 42
