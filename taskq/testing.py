"""For users' tests: tasks that run at once, or when the test says so; with a real Redis and a clock of the test's own.

    def test_orders(taskq_inline):             # a fixture for pytest (taskq.pytest_plugin)
        order = place_order()
        assert_enqueued(taskq_inline, close_order, order.id)

`inline(app)`: a task runs within `enqueue`. `manual(app)`: jobs wait in a private Redis until `run_ready`; `travel`
moves the clock, so that delays, schedules and retries come in no time. `worker_thread(app)`: a real worker on a
private Redis; `running_worker(app)`: one in the test's event loop. All of them turn
arguments and results into JSON and back, as on their real way.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from queues.embedded import EmbeddedRedis
from queues.engine import (
    Consumed,
    Engine,
    JobDetail,
    JobResult,
    JobState,
    Published,
    ack_attempt,
    annotate,
    consume,
    detail,
    fail,
    list_jobs,
    list_queues,
    open_engine,
    promote_due,
    publish,
    read_note,
    reclaim_ended,
    release,
    result,
    sweep,
)

from .app import App
from .brokers.redis import RedisBroker
from .context import Context, enter_context, leave_context
from .job import Job, Progress
from .message import Message, read_message
from .outcomes import TaskqClientError
from .serializers import from_json, to_json
from .task import Prepared, Task
from .worker import StopReason, Worker, WorkerOptions
from .worker.attempt import Attempt, Done, Failed, Lost, Released
from .worker.attempt_runner import AttemptRunner
from .worker.lease_renewer import CURSOR_KEPT_S
from .worker.processes import ProcessRunner
from .worker.threads import ThreadPool

NAMESPACE: Final = "test"
LEASE_MS: Final = 60_000
RUNS_MAX: Final = 10_000


@dataclass(slots=True)
class EnqueuedCall:
    """What was enqueued: a task by its name, its arguments as JSON has them, its queue, and its delay in seconds."""

    task: str
    args: list[Any]
    kwargs: dict[str, Any]
    queue: str
    delay_s: float
    key: str | None
    job_id: str


@dataclass
class Recorder:
    """Base of both modes: everything that was enqueued, in order."""

    app: App
    enqueued: list[EnqueuedCall] = field(default_factory=list)

    def record(self, prepared: Prepared, job_id: str, now_s: float) -> Message:
        message = read_message(prepared.body, serializers=self.app.serializers, cipher=self.app.cipher)
        options = prepared.options
        delay_s = options.delay_ms / 1_000 if options.at_ms is None else options.at_ms / 1_000 - now_s
        call = EnqueuedCall(message.task, message.args, message.kwargs, prepared.queue, delay_s, options.key, job_id)
        self.enqueued.append(call)
        return message

    def calls(self, task: Task[..., Any] | str) -> list[EnqueuedCall]:
        """Those of one task."""
        name = task if isinstance(task, str) else task.name
        return [call for call in self.enqueued if call.task == name]


def assert_enqueued(recorder: Recorder, task: Task[..., Any] | str, *args: Any, **kwargs: Any) -> EnqueuedCall:
    """Fail unless the task was enqueued with these arguments; without any, with whatever. The first such call.

    `task`: it, or its name.
    """
    task = _known(recorder, task)
    calls = recorder.calls(task)
    wanted = _as_json(task, args, kwargs)
    for call in calls:
        if not (args or kwargs) or (call.args, call.kwargs) == wanted:
            return call
    seen = "\n".join(f"  {call.task}(*{call.args}, **{call.kwargs})" for call in recorder.enqueued) or "  nothing"
    raise AssertionError(f"{task.name} was not enqueued with {wanted}; there was\n{seen}")


def _known(recorder: Recorder, task: Task[..., Any] | str) -> Task[..., Any]:
    """Raises LookupError for a name that the app does not have, which an assertion could only overlook."""
    if not isinstance(task, str):
        return task
    if task not in recorder.app.tasks:
        raise LookupError(f"there is no task {task}; there are {', '.join(sorted(recorder.app.tasks))}")
    return recorder.app.tasks[task]


def assert_not_enqueued(recorder: Recorder, task: Task[..., Any] | str) -> None:
    """Fail if the task was enqueued."""
    task = _known(recorder, task)
    if calls := recorder.calls(task):
        raise AssertionError(f"{task.name} was enqueued: {calls}")


def _as_json(task: Task[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    message = read_message(
        task.prepare(task.options, args, kwargs).body, serializers=task.app.serializers, cipher=task.app.cipher
    )
    return message.args, message.kwargs


class Inline(Recorder):
    """Tasks run within `enqueue`, once; what they raise, the caller gets."""

    def enqueue(self, task: Task[..., Any], prepared: Prepared) -> Job[Any]:
        job: Job[Any] = _in_thread(lambda: self.aenqueue(task, prepared))
        return job

    async def aenqueue(self, task: Task[..., Any], prepared: Prepared) -> Job[Any]:
        job_id = f"inline-{len(self.enqueued) + 1}"
        message = self.record(prepared, job_id, time.time())
        args, kwargs = task.read_arguments(message.args, message.kwargs)
        attributes = prepared.options.attributes or {}
        context = Context(app=self.app, job_id=job_id, queue=prepared.queue, task=task.name, attributes=attributes)
        token = enter_context(context)
        try:
            async with task.resolver.provide(context) as provided:
                value = await _call(task, *task.place(args, kwargs, provided))
        finally:
            leave_context(token)
        if task.options.retention_s > 0 if message.result is None else message.result:
            to_json(value)  # raises what would make the job a dead letter
        return InlineJob(task, prepared.queue, context, value)


class InlineJob(Job[Any]):
    """A job that has run already."""

    __slots__ = ("_context", "_declared", "_value_of_task")

    def __init__(self, task: Task[..., Any], queue: str, context: Context, value: Any) -> None:
        super().__init__(task.app, queue, context.job_id, task=task)
        self._declared = task
        self._context = context
        self._value_of_task = value

    def result(self, timeout: float = 30.0) -> Any:
        return self._declared.read_result(from_json(to_json(self._value_of_task)))

    async def aresult(self, timeout: float = 30.0) -> Any:  # noqa: ASYNC109 - the same as `Job`
        return self.result()

    def state(self) -> JobState | None:
        return JobState.COMPLETED

    async def astate(self) -> JobState | None:
        return JobState.COMPLETED

    def progress(self) -> Progress:
        context = self._context
        return Progress(percent=context.percent, note=context.note, log=tuple(context._lines))  # noqa: SLF001 - of its attempt

    async def aprogress(self) -> Progress:
        return self.progress()

    def cancel(self) -> bool:
        return False

    async def acancel(self) -> bool:
        return False


async def _call(task: Task[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    value = task.function(*args, **kwargs)
    if inspect.isasyncgen(value):
        async for _ in value:
            pass
        return None
    if inspect.isgenerator(value):
        for _ in value:
            pass
        return None
    return await value if inspect.isawaitable(value) else value


def _in_thread(make: Callable[[], Any]) -> Any:
    """The result of a coroutine, also for a caller within an event loop."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append((asyncio.run(make()), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    value, error = outcome[0]
    if error is not None:
        raise error
    return value


class Manual(Recorder):
    """Jobs wait in a real, private Redis; `run_ready` runs them, `travel` moves the clock."""

    def __init__(self, app: App, engine: Engine) -> None:
        super().__init__(app)
        self._engine = engine
        self.now_ms = round(time.time() * 1_000)

    def enqueue(self, task: Task[..., Any], prepared: Prepared) -> Job[Any]:
        queue = self._engine.queue(NAMESPACE, prepared.queue)
        published: Published = self._engine.run(publish(queue, [prepared.body], prepared.options, now_ms=self.now_ms))
        if not published.duplicate:
            self.record(prepared, published.job_ids[0], self.now_ms / 1_000)
        return ManualJob(self, prepared.queue, published.job_ids[0], task, is_duplicate=published.duplicate)

    async def aenqueue(self, task: Task[..., Any], prepared: Prepared) -> Job[Any]:
        return self.enqueue(task, prepared)

    def travel(self, seconds: float) -> int:
        """Move the clock on, running what becomes due at its time. The number of attempts."""
        ends, ran = self.now_ms + round(seconds * 1_000), 0
        while True:
            ran += self.run_ready()
            due = [ms for ms in self._due_times() if ms <= ends]
            if not due:
                break
            self.now_ms = max(self.now_ms, min(due))
        self.now_ms = ends
        return ran + self.run_ready()

    def run_ready(self) -> int:
        """Run all jobs that are ready, and those that they enqueue. The number of attempts."""
        layout = self._engine.layout
        ran = 0
        while True:
            for work in (promote_due, reclaim_ended, sweep):
                self._engine.run(work(layout, now_ms=self.now_ms))
            jobs = [job for name in self.queues() for job in self._take(name).jobs]
            if not jobs:
                return ran
            for delivery in jobs:
                _in_thread(lambda delivery=delivery: self._run(delivery))  # type: ignore[misc]
                ran += 1
                if ran > RUNS_MAX:
                    raise TaskqClientError(
                        f"more than {RUNS_MAX} attempts: does a task enqueue itself, or retry at once?"
                    )

    def queues(self) -> list[str]:
        """Those that hold jobs."""
        return list(self._engine.run(list_queues(self._engine.layout, NAMESPACE, limit=1_000)).names)

    def jobs(self, state: JobState | str = JobState.READY) -> list[JobDetail]:
        """The jobs in one state, of all queues."""
        found: list[JobDetail] = []
        for name in self.queues():
            queue = self._engine.queue(NAMESPACE, name)
            found += self._engine.run(list_jobs(queue, JobState(state), limit=100, now_ms=self.now_ms)).jobs
        return found

    def _take(self, name: str) -> Consumed:
        queue = self._engine.queue(NAMESPACE, name)
        return self._engine.run(consume(queue, ttr_ms=LEASE_MS, count=1, consumer="test", now_ms=self.now_ms))

    def _due_times(self) -> list[int]:
        waiting = self.jobs(JobState.DELAYED) + self.jobs(JobState.RETRY)
        return [job.due_ms for job in waiting if job.due_ms is not None]

    async def _run(self, delivery: Any) -> None:
        queue = self._engine.queue(NAMESPACE, delivery.queue)
        message = read_message(delivery.body, serializers=self.app.serializers, cipher=self.app.cipher)
        task = self.app.find_task(message.task)
        context = Context(
            app=self.app,
            job_id=delivery.job_id,
            queue=delivery.queue,
            task=task.name,
            attempt=delivery.attempt,
            tries_left=delivery.remain_tries,
        )
        keeps = task.options.retention_s > 0 if message.result is None else message.result
        now = time.monotonic()
        attempt = Attempt(delivery, task, message, context, now, now + 60, now, keeps)
        note = self._engine.run(read_note(queue, delivery.job_id)) if task.is_generator else {}
        if cursor := note.get("cursor"):
            context.cursor, attempt.cursor = from_json(cursor), cursor
        threads, processes = ThreadPool(1, lambda: None), ProcessRunner(1)
        running = asyncio.get_running_loop().create_task(AttemptRunner(threads, processes).run(attempt))
        attempt.runner = running  # type: ignore[assignment]
        try:
            ended = await running
        finally:
            threads.close()
            processes.close()
        self._keep_note(queue, attempt)
        self._end(queue, delivery, ended)

    def _keep_note(self, queue: Any, attempt: Attempt) -> None:
        """What the task said, and the cursor from which another attempt goes on."""
        fields, lines = attempt.context.take_changes() or ({}, [])
        if fields or lines or attempt.task.is_generator:
            named: dict[str, str | bytes] = {**fields, "cursor": attempt.cursor or b""}
            job_id = attempt.delivery.job_id
            self._engine.run(annotate(queue, job_id, named, lines=lines, keep_ms=round(1_000 * CURSOR_KEPT_S)))

    def _end(self, queue: Any, delivery: Any, ended: Any) -> None:
        job_id, attempt = delivery.job_id, delivery.attempt
        if isinstance(ended, Done):
            work: Any = ack_attempt(queue, job_id, attempt=attempt, result=ended.result, now_ms=self.now_ms)
        elif isinstance(ended, Failed):
            delay_ms = None if ended.delay_s is None else round(ended.delay_s * 1_000)
            work = fail(
                queue,
                job_id,
                attempt=attempt,
                error=ended.error,
                delay_ms=delay_ms,
                dead=ended.is_dead,
                now_ms=self.now_ms,
            )
        elif isinstance(ended, Released):
            work = release(queue, job_id, attempt=attempt, delay_ms=round(ended.delay_s * 1_000), now_ms=self.now_ms)
        else:
            assert isinstance(ended, Lost)
            return
        self._engine.run(work)

    def result_of(self, queue: str, job_id: str) -> JobResult:
        return self._engine.run(result(self._engine.queue(NAMESPACE, queue), job_id, now_ms=self.now_ms))

    def detail_of(self, queue: str, job_id: str) -> JobDetail | None:
        return self._engine.run(detail(self._engine.queue(NAMESPACE, queue), job_id, now_ms=self.now_ms))


class ManualJob(Job[Any]):
    """A job by the clock of its test."""

    __slots__ = ("_manual",)

    def __init__(self, manual: Manual, queue: str, job_id: str, task: Task[..., Any], *, is_duplicate: bool) -> None:
        super().__init__(manual.app, queue, job_id, task=task, is_duplicate=is_duplicate)
        self._manual = manual

    def detail(self) -> JobDetail | None:
        return self._manual.detail_of(self.queue, self.id)


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
        broker = RedisBroker(redis.url, NAMESPACE)
        before = app._broker  # noqa: SLF001 - the app's own, put back below
        app.broker = broker
        mode = Manual(app, engine)
        try:
            with _intercepted(app, mode):
                yield mode
        finally:
            app._broker = before  # noqa: SLF001
            broker.close()
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
    with private_redis() as redis:
        broker = RedisBroker(redis.url, NAMESPACE)
        before = app._broker  # noqa: SLF001 - the app's own, put back below
        app.broker = broker
        ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, Worker]] = Future()

        async def work() -> None:
            done = asyncio.Event()
            async with running_worker(app, **options) as worker:
                ready.set_result((asyncio.get_running_loop(), done, worker))
                await done.wait()

        try:
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
        finally:
            app._broker = before  # noqa: SLF001
            broker.close()


@contextlib.contextmanager
def private_redis() -> Iterator[EmbeddedRedis]:
    """A Redis for this test only."""
    with tempfile.TemporaryDirectory(prefix="taskq-") as folder, EmbeddedRedis(Path(folder), persistent=False) as redis:
        yield redis


@contextlib.contextmanager
def _intercepted(app: App, mode: Any) -> Iterator[None]:
    before = app._interceptor  # noqa: SLF001 - put back below
    app.set_interceptor(mode)
    try:
        yield
    finally:
        app.set_interceptor(before)
