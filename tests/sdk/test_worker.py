"""What a worker makes of a task's end, and what it does when it is told to stop, interrupted, or cut off."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from queues.engine import JobState, WorkerCommand, WorkerCommandKind
from taskq import (
    App,
    Cancel,
    Context,
    Depends,
    Job,
    JobFailedError,
    Middleware,
    Retry,
    RetryPolicy,
    Running,
    SerializationError,
    SkipRetry,
    Snooze,
    TaskOptions,
    current_context,
)
from taskq.worker import StopReason

from .conftest import until, work, working

pytestmark = pytest.mark.anyio


def detail(job: Job[Any]) -> Any:
    found = job.detail()
    assert found is not None
    return found


def test_sync_async_and_process_tasks_return_their_results(app: App) -> None:
    from . import process_tasks

    @app.task(retention=60)
    def sync(x: int) -> int:
        assert threading.current_thread() is not threading.main_thread()
        return x + 1

    @app.task(retention=60)
    async def coroutine(x: int) -> int:
        await asyncio.sleep(0)
        return x + 2

    task = process_tasks.app.tasks["square"]
    app.tasks["square"] = task
    jobs = [sync.enqueue(1), coroutine.enqueue(1), process_tasks.enqueue_square(app, 5)]
    work(app)

    assert [job.result() for job in jobs[:2]] == [2, 3]
    assert jobs[2].result() == 25


def test_a_failure_is_tried_again_by_the_policy_until_the_job_is_dead(app: App) -> None:
    seen: list[int] = []

    @app.task(retry=RetryPolicy(tries=3, backoff="none"))
    def fail(ctx: Context) -> None:
        seen.append(ctx.tries_left)
        raise ValueError("no stock")

    job = fail.enqueue()
    worker = work(app)

    found = detail(job)
    assert found.state is JobState.DEAD
    assert seen == [2, 1, 0]
    assert worker.failed == 3
    assert [one.error.splitlines()[0] for one in found.history] == ["ValueError: no stock"] * 3
    assert "test_worker.py" in found.history[0].error


def test_the_default_policy_waits_as_sidekiq_does(app: App) -> None:
    @app.task
    def fail() -> None:
        raise ValueError

    job = fail.enqueue()
    work(app)

    found = detail(job)
    assert found.state is JobState.RETRY
    assert found.tries == 25
    assert 15_000 <= found.due_ms - found.history[0].ended_ms <= 45_000


@pytest.mark.parametrize(
    ("raised", "state", "used", "error"),
    [
        (Retry(30, "later"), JobState.RETRY, 1, "later"),
        (Snooze(30), JobState.DELAYED, 0, None),
        (Cancel("bad order"), JobState.DEAD, 1, "bad order"),
        (SkipRetry("bad order"), JobState.DEAD, 1, "bad order"),
        (KeyError("x"), JobState.DEAD, 1, "KeyError: 'x'"),
    ],
)
def test_a_task_says_how_its_attempt_ends(app: App, raised: Exception, state: JobState, used: int, error: str) -> None:
    @app.task(retry=RetryPolicy(tries=5, never=(LookupError,)))
    def end() -> None:
        raise raised

    job = end.enqueue()
    work(app)

    found = detail(job)
    assert (found.state, found.used) == (state, used)
    assert [one.error.splitlines()[0] for one in found.history] == ([] if error is None else [error])
    if state in (JobState.RETRY, JobState.DELAYED):
        assert 29_000 < found.due_ms - found.now_ms <= 30_001


async def test_an_async_task_that_takes_too_long_is_cancelled(app: App) -> None:
    cleaned = []

    @app.task(timeout=0.05, retry=1)
    async def hang() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.append(True)

    job = await hang.aenqueue()
    async with working(app):
        await until(lambda: is_in(job, JobState.DEAD), or_fail="no timeout")
    found = await job.adetail()
    assert found is not None
    assert found.history[0].error == "timeout: the attempt took longer than 0.05 s"
    assert cleaned == [True]


async def test_a_timeout_that_was_moved_says_so(app: App) -> None:
    @app.task(timeout=60, retry=1)
    async def hang(ctx: Context) -> None:
        ctx.extend(0.05)
        await asyncio.sleep(60)

    job = await hang.aenqueue()
    async with working(app):
        await until(lambda: is_in(job, JobState.DEAD), or_fail="no timeout")
    found = await job.adetail()
    assert found is not None
    assert found.history[0].error == "timeout: the attempt took longer than 0.05 s since it was extended"


async def is_in(job: Job[Any], state: JobState) -> bool:
    return await job.astate() is state


async def test_a_thread_that_takes_too_long_is_given_up_and_keeps_its_slot(app: App) -> None:
    let_go, ran = threading.Event(), threading.Event()

    @app.task(timeout=0.5, retry=1)
    def hang() -> None:
        let_go.wait(20)

    @app.task
    def after() -> None:
        ran.set()

    job = await hang.aenqueue()
    async with working(app, concurrency=1):
        await until(lambda: is_in(job, JobState.DEAD), or_fail="no timeout")
        await after.aenqueue()
        await asyncio.sleep(0.2)
        assert not ran.is_set(), "there is no thread free"
        let_go.set()
        await until(ran.is_set, or_fail="the slot did not become free")
    found = await job.adetail()
    assert found is not None
    assert found.history[0].error.endswith("its thread cannot be interrupted and may still run")


async def test_a_handler_sees_within_a_second_that_its_job_was_cancelled(app: App) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    @app.task
    async def run() -> None:
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    @app.task
    def loop(ctx: Context) -> None:
        looping.set()
        while not ctx.is_cancelled:
            time.sleep(0.005)
        seen.append(time.monotonic())

    looping = threading.Event()
    seen: list[float] = []
    jobs = [await run.aenqueue(), await loop.aenqueue()]
    async with working(app) as worker:
        await asyncio.wait_for(began.wait(), 5)
        await until(lambda: len(worker.active) == 2 and looping.is_set(), or_fail="both run")
        at = time.monotonic()
        for job in jobs:
            assert await job.acancel()
        await asyncio.wait_for(ended.wait(), 1)
        await until(lambda: seen, or_fail="the thread did not see it", timeout_s=1)
        assert seen[0] - at < 1
        for job in jobs:
            await until(lambda job=job: is_in(job, JobState.DEAD), or_fail="not dead")
    assert detail_error(await jobs[0].adetail()) == "cancelled"


def detail_error(found: Any) -> str:
    return str(found.history[-1].error)


async def test_a_cancellation_of_another_attempt_is_not_obeyed(app: App) -> None:
    seen = asyncio.Event()

    @app.task
    async def run() -> None:
        seen.set()
        await asyncio.sleep(60)

    job = await run.aenqueue()
    async with working(app) as worker:
        await until(seen.is_set, or_fail="it did not begin")
        worker.obey(WorkerCommand(WorkerCommandKind.CANCEL, job.id, "late", attempt=2))
        assert worker.active[job.id].why is None
        worker.obey(WorkerCommand(WorkerCommandKind.CANCEL, job.id, "in time", attempt=1))
        await until(lambda: not worker.active, or_fail="it was not cancelled")
    assert detail_error(await job.adetail()) == "cancelled"


async def test_a_job_that_was_cancelled_and_made_ready_again_runs(app: App) -> None:
    runs: list[int] = []

    @app.task
    async def run(ctx: Context) -> None:
        runs.append(ctx.attempt)
        if ctx.attempt == 1:
            await asyncio.sleep(60)
        await asyncio.sleep(1.2)  # a beat tells the worker of the command again

    job = await run.aenqueue()
    async with working(app):
        await until(lambda: runs, or_fail="it did not begin")
        await job.acancel()
        await until(lambda: is_in(job, JobState.DEAD), or_fail="not dead")
        await app.broker.arun(app.broker.respawn("default", [job.id]))
        await until(lambda: is_gone(job), or_fail="it was cancelled again")
    assert runs == [1, 2]


def test_cancelling_a_job_that_waits_deletes_it_and_of_an_ended_one_says_so(app: App) -> None:
    @app.task(retention=60)
    def noop() -> None: ...

    job, done = noop.using(delay=60).enqueue(), noop.enqueue()
    work(app)

    assert job.cancel()
    assert job.state() is None
    assert not job.cancel()
    assert not done.cancel()
    assert done.state() is JobState.COMPLETED


def test_jobs_that_the_worker_does_not_know_are_parked_unharmed(app: App, redis_url: str) -> None:
    newer = App(redis_url, namespace="sdk")
    ran: list[str] = []

    @app.task(name="changed")
    def old(a: int) -> None:
        ran.append("old")

    @newer.task(name="changed", version=2)
    def changed(a: int, b: int) -> None:
        ran.append("new")

    @newer.task(name="added")
    def added() -> None:
        ran.append("added")

    jobs = [changed.enqueue(1, 2), added.enqueue(), old.enqueue(3)]
    app.broker.run(_publish_text(app, b"not a message"))
    worker = work(app)

    assert ran == ["old"]
    assert sorted(reason for _, _, reason in worker.parked) == [
        "it is of version 2, this worker has version 1",
        "the body is not a task's message: JSON is malformed: invalid character (byte 4)",
        "this worker has no such task",
    ]
    for job in jobs[:2]:
        found = detail(job)
        assert (found.state, found.used, found.history) == (JobState.DELAYED, 0, ())
        assert b"parked" in b" ".join(k.encode() for k in app.broker.run(app.broker.note("default", job.id)))
        app.broker.run(app.broker.run_now("default", [job.id]))
    work(newer)
    assert sorted(ran) == ["added", "new", "old"]
    newer.broker.close()


def _publish_text(app: App, body: bytes) -> Any:
    from queues.engine import PublishOptions

    return app.broker.publish("default", [body], PublishOptions())


async def test_told_to_stop_it_finishes_what_runs_and_gives_the_rest_back(app: App) -> None:
    began: list[str] = []

    @app.task
    async def short() -> None:
        began.append("short")
        await asyncio.sleep(0.3)

    @app.task
    async def long() -> None:
        began.append("long")
        await asyncio.sleep(60)

    jobs = [await short.aenqueue(), await long.aenqueue()]
    async with working(app, grace_s=0.6) as worker:
        await until(lambda: len(began) == 2, or_fail="they did not begin")
        worker.stop()
        waiting = await short.aenqueue()
    assert await jobs[0].astate() is None, "it was done"
    found = await jobs[1].adetail()
    assert found is not None
    assert (found.state, found.used, found.history) == (JobState.READY, 0, ())
    assert await waiting.astate() is JobState.READY, "nothing more was taken"


async def test_a_generator_goes_on_from_its_cursor_after_a_stop(app: App) -> None:
    seen: list[int] = []

    @app.task
    async def walk(ctx: Context, to: int) -> AsyncIterator[int]:
        for number in range((ctx.cursor or 0) + 1, to + 1):
            seen.append(number)
            await asyncio.sleep(0.02)
            yield number

    job = await walk.aenqueue(30)
    async with working(app) as worker:
        await until(lambda: len(seen) > 5, or_fail="it did not begin")
        worker.stop()
    found = await job.adetail()
    assert found is not None
    assert (found.state, found.used) == (JobState.READY, 0)
    async with working(app):
        await until(lambda: is_gone(job), or_fail="it did not end")
    assert seen == list(range(1, 31)), "nothing twice, nothing left out"


async def is_gone(job: Job[Any]) -> bool:
    return await job.astate() is None


def test_a_generator_that_fails_goes_on_from_its_last_cursor(app: App) -> None:
    seen: list[int] = []

    @app.task(retry=RetryPolicy(tries=3, backoff="none"))
    def walk(ctx: Context) -> Iterator[int]:
        for number in range(ctx.cursor or 0, 6):
            seen.append(number)
            yield number + 1
            if number == 3 and ctx.attempt == 1:
                raise ValueError("once")

    walk.enqueue()
    work(app)

    assert seen == [0, 1, 2, 3, 4, 5]


async def test_leases_of_running_jobs_are_renewed(app: App) -> None:
    runs: list[int] = []

    @app.task
    async def run() -> None:
        runs.append(1)
        await asyncio.sleep(2.5)

    job = await run.aenqueue()
    async with working(app, lease_s=1.0):
        await until(lambda: is_gone(job), or_fail="it did not end")
    assert runs == [1], "another attempt began: the lease had ended"


async def test_an_attempt_whose_lease_was_lost_is_interrupted_and_changes_nothing(app: App) -> None:
    from queues.engine import delete_jobs, open_engine

    ended = asyncio.Event()

    @app.task
    async def run() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    job = await run.aenqueue()
    async with working(app, lease_s=1.0) as worker:
        await until(lambda: worker.active, or_fail="it did not begin")
        engine = open_engine(app._place[0] or "")
        engine.run(delete_jobs(engine.queue("sdk", "default"), [job.id]))
        engine.close()
        await asyncio.wait_for(ended.wait(), 3)
        await until(lambda: not worker.active, or_fail="it is held")
    assert worker.failed == 0


async def test_of_several_queues_the_heavier_goes_first_more_often_and_none_starves(app: App) -> None:
    order: list[str] = []

    @app.task
    async def note(name: str) -> None:
        order.append(name)

    await app.aenqueue_many([note.using(queue=name).call(name) for name in ("critical", "low") for _ in range(200)])
    async with working(app, queues={"critical": 6, "low": 1}, concurrency=1):
        await until(lambda: len(order) >= 200, or_fail="they do not run")
        first = Counter(order[:200])
    assert first["critical"] > 2 * first["low"] > 0


def test_a_strict_order_leaves_nothing_of_the_first_for_later(app: App) -> None:
    order: list[str] = []

    @app.task
    async def note(name: str) -> None:
        order.append(name)

    app.enqueue_many([note.using(queue=name).call(name) for name in ("low", "critical") for _ in range(50)])
    work(app, queues={"low": 1, "critical": 6}, strict=True, concurrency=1)

    assert order == ["critical"] * 50 + ["low"] * 50


async def none_works(app: App) -> bool:
    return (await app.broker.arun(app.broker.stats("default"))).counts[JobState.WORKING] == 0


async def test_it_takes_no_more_jobs_than_it_has_free_slots(app: App) -> None:
    most = 0

    @app.task
    async def run() -> None:
        nonlocal most
        most = max(most, len(worker.active))
        await asyncio.sleep(0.01)

    await app.aenqueue_many([run.call() for _ in range(100)])
    async with working(app, concurrency=7) as worker:
        await until(lambda: worker.done == 100, or_fail="not all ran")
        await until(lambda: none_works(app), or_fail="a job is not acknowledged")
    assert most == 7


async def test_who_waits_for_a_job_that_dies_is_told_at_once(app: App) -> None:
    @app.task(retry=1)
    async def fail() -> None:
        raise ValueError("no stock")

    job = await fail.aenqueue()
    async with working(app):
        with pytest.raises(JobFailedError, match="no stock"):
            await asyncio.wait_for(job.aresult(timeout=60), 10)


async def test_quiet_and_resume_in_one_breath_leave_it_running(app: App) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    @app.task
    async def run() -> None:
        begun.set()
        await go_on.wait()

    await run.aenqueue()
    async with working(app) as worker:
        await until(begun.is_set, or_fail="it did not begin")
        worker.quiet()
        worker.resume()
        second = await run.aenqueue()
        await until(lambda: len(worker.active) == 2, or_fail="it takes no jobs any more")
        go_on.set()
        await until(lambda: is_gone(second), or_fail="its job did not end")


async def test_quiet_takes_nothing_more_until_it_resumes(app: App) -> None:
    @app.task
    async def noop() -> None: ...

    async with working(app) as worker:
        await until(lambda: worker.is_well, or_fail="it does not run")

        async def tell(kind: WorkerCommandKind) -> None:
            await app.broker.arun(app.broker.command(WorkerCommand(kind, worker.id, f"given {kind}")))

        await tell(WorkerCommandKind.QUIET)
        await until(lambda: worker.state == "quiet", or_fail="it did not hear", timeout_s=3)
        job = await noop.aenqueue()
        await asyncio.sleep(0.2)
        assert await job.astate() is JobState.READY
        await tell(WorkerCommandKind.RESUME)
        await until(lambda: is_gone(job), or_fail="it did not resume")
        await asyncio.sleep(1.2)  # a beat tells it of these commands again
        assert worker.state == "running"
        await tell(WorkerCommandKind.STOP)
        await until(lambda: worker.is_stopping, or_fail="it did not stop", timeout_s=3)


async def test_progress_lines_and_presence_are_seen_while_it_runs_and_gone_afterwards(app: App) -> None:
    go_on = asyncio.Event()

    @app.task(name="t")
    async def run(ctx: Context) -> None:
        ctx.progress(30, "three of ten")
        ctx.log("line 1")
        current_context().log("line 2\nwith a break")
        await go_on.wait()

    job = await run.aenqueue()
    async with working(app) as worker:
        progress = await until(lambda: told(job), or_fail="nothing was told", timeout_s=3)
        assert (progress.percent, progress.note) == (30.0, "three of ten")
        assert progress.log == ("line 1", "line 2 with a break")

        async def shown() -> Any:
            beats = await app.broker.arun(app.broker.workers())
            return beats and beats[0].running and beats[0]

        beat = await until(shown, or_fail="it is not shown", timeout_s=3)
        assert (beat.worker, beat.namespace, beat.state, beat.queues) == (worker.id, "sdk", "running", {"default": 1})
        assert (beat.running[0].job_id, beat.running[0].task, beat.running[0].percent) == (job.id, "t", 30.0)
        assert beat.memory_bytes > 1_000_000
        go_on.set()
        await until(lambda: is_gone(job), or_fail="it did not end")
    assert app.broker.run(app.broker.workers()) == ()


async def told(job: Job[Any], lines: int = 1) -> Any:
    progress = await job.aprogress()
    return progress if len(progress.log) >= lines else None


def test_dependencies_are_made_once_per_attempt_and_cleaned_up(app: App) -> None:
    steps: list[str] = []

    async def connection() -> AsyncIterator[str]:
        steps.append("open")
        yield "c"
        steps.append("close")

    def session(ctx: Context, connection: str = Depends(connection)) -> Iterator[str]:
        steps.append(f"begin {ctx.task}")
        yield f"s({connection})"
        steps.append("end")

    @app.task(name="t", retention=60)
    async def use(a: str = Depends(session), b: str = Depends(session), c: str = Depends(connection)) -> str:
        steps.append("run")
        return a + b + c

    job = use.enqueue()
    work(app)

    assert job.result() == "s(c)s(c)c"
    assert steps == ["open", "begin t", "run", "end", "close"]


def test_a_dependency_learns_of_a_failure_and_cannot_hide_it(app: App) -> None:
    seen: list[str] = []

    def session() -> Iterator[str]:
        try:
            yield "s"
        except ValueError as error:
            seen.append(f"rolled back: {error}")  # and forgets to raise it again

    @app.task(retry=1, retention=60)
    async def use(session: str = Depends(session)) -> None:
        raise ValueError("no stock")

    job = use.enqueue()
    work(app)
    assert seen == ["rolled back: no stock"]
    with pytest.raises(JobFailedError, match="ValueError: no stock"):
        job.result()


def test_a_lifespan_surrounds_the_worker_and_middleware_each_run(redis_url: str) -> None:
    steps: list[str] = []

    @asynccontextmanager
    async def lifespan(_: App) -> AsyncIterator[dict[str, str]]:
        steps.append("start")
        yield {"db": "open"}
        steps.append("stop")

    class Outer(Middleware):
        def on_enqueue(self, job: Any) -> None:
            job.attributes["by"] = "outer"

        async def around_run(self, run: Running, call_next: Any) -> Any:
            steps.append(f"outer {run.context.attributes['by']}")
            return await call_next() + 1

    class Inner(Middleware):
        async def around_run(self, run: Running, call_next: Any) -> Any:
            steps.append("inner")
            return await call_next() * 10

    app = App(redis_url, namespace="sdk", lifespan=lifespan, middleware=[Outer(), Inner()])

    @app.task(retention=60)
    def run(ctx: Context, x: int) -> int:
        steps.append(ctx.state["db"])
        return x

    job = run.enqueue(4)
    work(app)

    assert job.result() == 41
    assert steps == ["start", "outer outer", "inner", "open", "stop"]
    app.broker.close()


def test_it_ends_after_so_many_jobs(app: App) -> None:
    @app.task
    async def noop() -> None: ...

    app.enqueue_many([noop.call() for _ in range(50)])
    from .conftest import make_worker

    worker = make_worker(app, max_jobs=10, concurrency=5)
    assert asyncio.run(worker.run()) is StopReason.MAX_JOBS
    assert 10 <= worker.done <= 20
    counts = app.broker.run(app.broker.stats("default")).counts
    assert counts[JobState.READY] == 50 - worker.done
    assert counts[JobState.WORKING] == 0


def test_a_result_that_is_too_long_or_has_no_json_form_is_a_dead_letter_that_says_so(app: App) -> None:
    @app.task(name="long", retention=60)
    def long() -> str:
        return "x" * 1_100_000

    @app.task(name="odd", retention=60)
    def odd() -> object:
        return object()

    jobs: list[Job[Any]] = [long.enqueue(), odd.enqueue()]
    work(app)

    assert [detail(job).state for job in jobs] == [JobState.DEAD] * 2
    assert detail(jobs[0]).history[-1].error == "the result takes 1,100,002 bytes, at most 1,048,576 are kept"
    assert "object has no JSON form" in detail(jobs[1]).history[-1].error


async def test_what_goes_wrong_outside_of_a_task_fails_its_attempt_and_frees_its_slot(app: App) -> None:
    keys: list[Any] = []

    def bad_key(x: Any) -> str:
        keys.append(x)
        if len(keys) > 1:  # not when it is enqueued
            raise ZeroDivisionError("in the key")
        return "one"

    @app.task(name="bad", key=bad_key, key_mode="no_overlap", retry=1)
    async def bad(x: int) -> None: ...

    @app.task(retry=1)
    async def odd() -> None:
        raise Retry(float("nan"))

    @app.task
    async def good() -> None: ...

    jobs = [await bad.aenqueue(1), await odd.aenqueue(), await good.aenqueue()]
    async with working(app, concurrency=1) as worker:
        await until(lambda: worker.done == 1, or_fail="its slots are taken for ever")
        for job in jobs[:2]:
            await until(lambda job=job: is_in(job, JobState.DEAD), or_fail="it is stuck")
    assert "ZeroDivisionError: in the key" in detail_error(await jobs[0].adetail())


async def test_a_task_that_swallows_its_cancellation_is_not_acknowledged(app: App) -> None:
    began = asyncio.Event()

    @app.task(timeout=0.05, retry=1)
    async def late() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return

    @app.task
    async def stopped() -> None:
        began.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return

    jobs = [await late.aenqueue(), await stopped.aenqueue()]
    async with working(app, grace_s=0.1) as worker:
        await until(lambda: is_in(jobs[0], JobState.DEAD), or_fail="it was acknowledged")
        await began.wait()
        worker.stop()
    assert await jobs[1].astate() is JobState.READY


async def test_a_generator_that_asks_whether_to_end_is_given_back_at_its_cursor_whatever_middleware_returns(
    redis_url: str,
) -> None:
    class Careless(Middleware):
        async def around_run(self, run: Running, call_next: Any) -> None:
            await call_next()

    app = App(redis_url, namespace="sdk", middleware=[Careless()])
    seen: list[int] = []

    @app.task
    async def walk(ctx: Context) -> AsyncIterator[int]:
        for number in range(ctx.cursor or 0, 20):
            if ctx.is_cancelled:
                return
            seen.append(number)
            await asyncio.sleep(0.02)
            yield number + 1

    job = await walk.aenqueue()
    async with working(app) as worker:
        await until(lambda: len(seen) > 3, or_fail="it did not begin")
        worker.stop()
    assert await job.astate() is JobState.READY
    async with working(app):
        await until(lambda: is_gone(job), or_fail="it did not end")
    assert seen == list(range(20))
    app.broker.close()


async def test_a_job_whose_lease_ran_out_unnoticed_is_not_run_twice_at_once(app: App) -> None:
    running, most = 0, 0

    @app.task
    async def run(ctx: Context) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            await asyncio.sleep(60 if ctx.attempt == 1 else 0.01)
        finally:
            running -= 1

    job = await run.aenqueue()
    async with working(app, lease_s=5.0) as worker:
        await until(lambda: running, or_fail="it did not begin")
        await app.broker.arun(app.broker.release("default", job.id, attempt=1, delay_ms=0))
        await until(lambda: is_gone(job), or_fail="it is stuck", timeout_s=15)
    assert most == 1
    assert worker.active == {}


def test_an_encrypted_result_is_refused_without_its_key(redis_url: str) -> None:
    from cryptography.fernet import Fernet

    app = App(redis_url, namespace="sdk", encryption_keys=[Fernet.generate_key()])
    task = app.add_task(lambda: "secret", "t", TaskOptions(retention=60))
    job = task.enqueue()
    work(app)
    assert job.result() == "secret"

    for keys, words in ((), "has no encryption_keys"), ([Fernet.generate_key()], "cannot be decrypted"):
        other = App(redis_url, namespace="sdk", encryption_keys=keys)
        with pytest.raises(SerializationError, match=words):
            other.job(job.queue, job.id).result()
        other.broker.close()
    app.broker.close()


def test_unencrypted_messages_are_parked_by_an_app_with_keys(redis_url: str) -> None:
    from cryptography.fernet import Fernet

    key = Fernet.generate_key()
    app = App(redis_url, namespace="sdk", encryption_keys=[key])
    app.add_task(lambda: None, "t", TaskOptions(retention=60))
    app.broker.run(_publish_text(app, b'{"task":"t"}'))
    ((_, name, reason),) = work(app).parked
    assert name == "t"
    assert "is not encrypted" in reason
    app.broker.close()
