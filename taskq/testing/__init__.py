"""For users' tests: tasks that run at once, or when the test says so; with a real Redis and a clock of the test's own.

    def test_orders(taskq_inline):             # a fixture for pytest (taskq.pytest_plugin)
        order = place_order()
        assert_enqueued(taskq_inline, close_order, order.id)

`inline(app)`: a task runs within `enqueue`. `manual(app)`: jobs wait in a private Redis until `run_ready`; `travel`
moves the clock, so that delays, schedules and retries come in no time. `worker_thread(app)`: a real worker on a
private Redis; `running_worker(app)`: one in the test's event loop. All of them convert arguments and results to JSON
and back, as in production.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from queues.embedded import EmbeddedRedis
from queues.engine import open_engine

from ..app import App
from ..brokers.redis import RedisBroker
from ..worker import StopReason, Worker, WorkerOptions
from .inline_mode import EnqueuedCall, Inline, InlineJob, Recorder, assert_enqueued, assert_not_enqueued
from .manual_mode import NAMESPACE, Manual, ManualJob

__all__ = [
    "EnqueuedCall",
    "Inline",
    "InlineJob",
    "Manual",
    "ManualJob",
    "Recorder",
    "assert_enqueued",
    "assert_not_enqueued",
    "inline",
    "manual",
    "private_redis",
    "running_worker",
    "worker_thread",
]


@contextlib.contextmanager
def inline(app: App) -> Iterator[Inline]:
    """Within it, the app's tasks run as they are enqueued."""
    mode = Inline(app)
    with _intercepted(app, mode):
        yield mode


@contextlib.contextmanager
def manual(app: App) -> Iterator[Manual]:
    """Within it, the app's jobs go to a private Redis, and run when the test says so."""
    with private_redis() as redis:
        engine = open_engine(redis.url, partitions=1, events_memory=0)
        mode = Manual(app, engine)
        try:
            with _broker_at(app, redis.url), _intercepted(app, mode):
                yield mode
        finally:
            engine.close()


@contextlib.asynccontextmanager
async def running_worker(app: App, **options: Any) -> AsyncIterator[Worker]:
    """A real worker beside the test, in its event loop. `options`: WorkerOptions; queues, by default, are those of
    the tasks.
    """
    queues = dict.fromkeys(app.queues() or {"default"}, 1)
    worker = Worker(app, WorkerOptions(**{"queues": queues, "grace_s": 2.0, **options}))
    running = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop_for(StopReason.STOPPED)
        await running


@contextlib.contextmanager
def worker_thread(app: App, **options: Any) -> Iterator[Worker]:
    """A real worker in a thread, on a private Redis, where the app's jobs go meanwhile. `options`: as of
    `running_worker`.
    """
    with private_redis() as redis, _broker_at(app, redis.url):
        ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, Worker]] = Future()

        async def work() -> None:
            done = asyncio.Event()
            async with running_worker(app, **options) as worker:
                ready.set_result((asyncio.get_running_loop(), done, worker))
                await done.wait()

        with ThreadPoolExecutor(1, "taskq_test_worker") as thread:
            running = thread.submit(lambda: asyncio.run(work()))
            running.add_done_callback(lambda _: ready.cancel())  # of one that could not start
            either: list[Future[Any]] = [ready, running]
            if wait(either, return_when=FIRST_COMPLETED).done == {running}:
                running.result()
            loop, done, worker = ready.result()
            try:
                yield worker
            finally:
                loop.call_soon_threadsafe(done.set)
                running.result()


@contextlib.contextmanager
def private_redis() -> Iterator[EmbeddedRedis]:
    """A Redis for this test only."""
    with tempfile.TemporaryDirectory(prefix="taskq-") as folder, EmbeddedRedis(Path(folder), persistent=False) as redis:
        yield redis


@contextlib.contextmanager
def _broker_at(app: App, url: str) -> Iterator[None]:
    """Have the app use the Redis at this URL."""
    broker = RedisBroker(url, NAMESPACE)
    before = app._broker  # noqa: SLF001 - the app's own, put back below
    app.broker = broker
    try:
        yield
    finally:
        app._broker = before  # noqa: SLF001
        broker.close()


@contextlib.contextmanager
def _intercepted(app: App, mode: Any) -> Iterator[None]:
    before = app._interceptor  # noqa: SLF001 - put back below
    app.set_interceptor(mode)
    try:
        yield
    finally:
        app.set_interceptor(before)
