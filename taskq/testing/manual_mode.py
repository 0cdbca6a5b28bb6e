"""Manual mode: jobs wait in a private Redis until the test runs them, with a clock of its own."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

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
    promote_due,
    publish,
    read_note,
    reclaim_ended,
    release,
    result,
    sweep,
)

from ..app import App
from ..context import Context
from ..errors import TaskqClientError
from ..job import Job
from ..message import read_message
from ..serializers import from_json
from ..task import Prepared, Task
from ..worker.attempt import Attempt, Done, Failed, Lost, Released
from ..worker.attempt_runner import AttemptRunner
from ..worker.lease_renewer import CURSOR_KEPT_S
from ..worker.processes import ProcessRunner
from ..worker.threads import ThreadPool
from .inline_mode import Recorder, run_in_thread

NAMESPACE: Final = "test"
LEASE_MS: Final = 60_000
RUNS_MAX: Final = 10_000


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
                run_in_thread(lambda delivery=delivery: self._run(delivery))  # type: ignore[misc]
                ran += 1
                if ran > RUNS_MAX:
                    raise TaskqClientError(
                        f"more than {RUNS_MAX} attempts: does a task enqueue itself, or retry at once?"
                    )

    def queues(self) -> list[str]:
        """The names of queues that hold jobs."""
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
        """Store what the task reported, and the cursor from which another attempt goes on."""
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
