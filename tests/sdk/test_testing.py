"""What users test their tasks with."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from queues.engine import JobState
from taskq import (
    App,
    Context,
    JobFailedError,
    NotConfiguredError,
    Progress,
    RetryPolicy,
    SerializationError,
    Snooze,
    current_context,
)
from taskq.testing import (
    assert_enqueued,
    assert_not_enqueued,
    inline,
    manual,
    private_redis,
    running_worker,
    worker_thread,
)

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


def test_inline_results_travel_as_json_and_the_context_is_the_current_one(app: App) -> None:
    @app.task
    def pair() -> tuple[int, datetime]:
        return 1, datetime(2026, 1, 1, tzinfo=UTC)

    @app.task
    def bare() -> Any:
        return {2}

    @app.task(retention=60)
    def bad() -> object:
        return object()

    @app.task
    async def speak() -> str:
        current_context().progress(50, "half")
        current_context().log("spoken")
        return current_context().job_id

    with inline(app):
        assert pair.enqueue().result() == (1, datetime(2026, 1, 1, tzinfo=UTC))
        assert bare.enqueue().result() == [2], "as a caller gets it from a worker"
        with pytest.raises(SerializationError, match="object has no JSON form"):
            bad.enqueue()
        job = speak.enqueue()
        assert job.result() == job.id
        assert job.progress() == Progress(percent=50.0, note="half", log=("spoken",))
        assert not job.cancel()


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


def test_manual_goes_on_from_cursors_and_shows_progress(app: App) -> None:
    begun: list[int] = []

    @app.task(retry=RetryPolicy(tries=2, backoff="fixed:60"))
    def walk(ctx: Context) -> Iterator[int]:
        begun.append(ctx.cursor or 0)
        for number in range(ctx.cursor or 0, 3):
            if number == 2 and ctx.attempt == 1:
                raise ValueError("no")
            ctx.log(f"step {number}")
            yield number + 1

    with manual(app) as mode:
        job = walk.enqueue()
        mode.run_ready()
        assert job.progress().log == ("step 0", "step 1")
        mode.travel(60)
        assert begun == [0, 2]


def test_a_task_may_be_named_in_an_assertion(app: App) -> None:
    @app.task(name="mail.send")
    def send(to: str) -> None: ...

    with inline(app) as mode:
        assert_not_enqueued(mode, "mail.send")
        send.enqueue("ada")
        assert_enqueued(mode, "mail.send", "ada")
        with pytest.raises(AssertionError, match="was enqueued"):
            assert_not_enqueued(mode, "mail.send")
        with pytest.raises(LookupError, match=r"there is no task mail\.sent; there are mail\.send"):
            assert_not_enqueued(mode, "mail.sent")


def test_a_real_worker_in_a_thread(app: App) -> None:
    @app.task(retention=60)
    async def add(a: int, b: int) -> int:
        return a + b

    place = app.broker
    with worker_thread(app, concurrency=2) as worker:
        assert add.enqueue(1, 2).result(timeout=10) == 3
        assert worker.options.concurrency == 2
    assert app.broker is place
    assert worker.is_stopping
    with pytest.raises(NotConfiguredError, match="concurrency"), worker_thread(app, concurrency=0):
        pass
    assert app.broker is place


def test_a_task_that_never_gets_anywhere_is_noticed(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskq.testing.manual_mode.RUNS_MAX", 20)

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
