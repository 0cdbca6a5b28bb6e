"""The worker: takes as many jobs as it has free slots, runs them, reports how they ended."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Mapping
from typing import Any, Final

from queues.engine import Delivery, TaskqError

from ..app import App
from ..context import Context
from ..errors import NotConfiguredError, SerializationError, TaskqClientError
from ..message import read_message, read_task_name
from ..outcomes import describe
from ..schedule_sync import app_name, has_schedules, sync_schedules
from .attempt import Attempt, Done, Ended, Failed, Lost, Released, Why
from .attempt_runner import AttemptRunner, interrupted
from .finisher import PASSING, Ending, Finisher, ending_of
from .lease_renewer import LeaseRenewer
from .options import StopReason, WorkerOptions
from .processes import ProcessRunner
from .source import JobSource
from .state import WorkerState
from .threads import ThreadPool

FIRST_RETRY_S: Final = 0.1
LONGEST_RETRY_S: Final = 2.0
BURST_FIRST_S: Final = 0.01
BURST_LONGEST_S: Final = 0.25
"""How long a worker that ends when nothing is left looks away while its last jobs run, which may be tried again."""

OVERLAP_FIRST_S: Final = 1.0
OVERLAP_LONGEST_S: Final = 10.0
"""When a job is tried again whose key another one holds that runs: twice as late each time, up to this, so that many
jobs with one key cost a tenth of a call a second each."""

PARK_FIRST_S: Final = 5.0
PARK_LONGEST_S: Final = 300.0
PARKED_TEXT_MAX: Final = 200
PARKED_KINDS_MAX: Final = 200
FINISH_AT_THE_END_S: Final = 10.0


class Worker(WorkerState):
    """One worker process. `run` returns when it has ended."""

    def __init__(self, app: App, options: WorkerOptions) -> None:
        super().__init__(app, options)
        self._changed = asyncio.Event()
        self._taking: asyncio.Task[Any] | None = None
        self._is_reached = False
        self._has_cut_off = False
        """Whether the call that takes jobs was cancelled by us."""

    @property
    def is_well(self) -> bool:
        """Whether it takes jobs and reaches taskq."""
        return self.state == "running" and self._is_reached

    async def run(self) -> StopReason:
        """Work until told to stop, or until the options say so. Raises NotConfiguredError."""
        self.app.broker.limit_queues(self.app.queue_limits)
        self._loop = asyncio.get_running_loop()
        self._threads = ThreadPool(self.options.concurrency, self._changed.set)
        processes = ProcessRunner(self.options.processes)
        self._runner = AttemptRunner(self._threads, processes)
        try:
            if not await self._open():
                return self._end or StopReason.STOPPED
            if self.options.schedules_of is not None:
                await self._sync_schedules(self.options.schedules_of)
            self._finisher = Finisher(self.app.broker, self._on_lost)
            self._lease_renewer = LeaseRenewer(self, obey=self.obey, stop_for=self.stop_for)
            self._source = JobSource(self.app.broker, self.options, self.id)
            async with self._lifespan() as state:
                self._context_state: Mapping[str, Any] = state if isinstance(state, Mapping) else {"state": state}
                await self._work()
        finally:
            processes.close()
            self._threads.close()
            with contextlib.suppress(TaskqError):
                await self.app.broker.aclose()
        assert self._end is not None
        return self._end

    async def _open(self) -> bool:
        """Wait until taskq is reached. False: the worker was told to stop before."""
        reaching = self._loop.create_task(self._reach())
        stopping = self._loop.create_task(self._told_to_stop.wait())
        try:
            await asyncio.wait((reaching, stopping), return_when=asyncio.FIRST_COMPLETED)
            if reaching.done():
                reaching.result()  # raises what it raised
            return reaching.done()
        finally:
            reaching.cancel()
            stopping.cancel()
            await asyncio.gather(reaching, stopping, return_exceptions=True)

    async def _reach(self) -> None:
        delay_s = FIRST_RETRY_S
        while True:
            try:
                await self.app.broker.arun(self.app.broker.workers())
                self._is_reached = True
                return
            except TaskqError as error:
                if delay_s == FIRST_RETRY_S:
                    self._log(logging.WARNING, "taskq is not reached yet", error=str(error)[:200])
                await asyncio.sleep(delay_s)
                delay_s = min(2 * delay_s, LONGEST_RETRY_S)

    async def _sync_schedules(self, name: str) -> None:
        """Tell the service which schedules the tasks declare, also if there are none any more.

        An error is logged, and the worker goes on.
        """
        if not has_schedules(self.app) and not self.app.broker.keeps_schedules:
            return
        try:
            done = await sync_schedules(self.app, app_name(self.app, name))
        except (TaskqError, TaskqClientError, TypeError) as error:
            self._log(logging.WARNING, "schedules are not synced", error=str(error)[:500])
        else:
            counts = {"new": len(done.created), "kept": len(done.updated), "removed": len(done.removed)}
            self._log(logging.INFO, "schedules are synced", **counts)

    @contextlib.asynccontextmanager
    async def _lifespan(self) -> Any:
        if self.app.lifespan is None:
            yield {}
        else:
            async with self.app.lifespan(self.app) as state:
                yield {} if state is None else state

    async def _work(self) -> None:
        self.hears_commands = self.app.broker.follow_commands(self.obey)
        fields = {"queues": ",".join(self.options.queues), "tasks": len(self.app.tasks), "broker": self.app.broker.url}
        self._log(logging.INFO, "worker runs", **fields)
        keeping = self._loop.create_task(self._lease_renewer.run())
        try:
            await self._take_jobs()
            await self._drain()
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            await self._lease_renewer.say_goodbye()
        self._log(logging.INFO, "worker ended", why=self._end, done=self.done, failed=self.failed)

    # Taking jobs.

    def _wake(self) -> None:
        self._changed.set()
        if self._taking is not None and not self._may_take():
            self._has_cut_off = True
            self._taking.cancel()

    @property
    def abandoned(self) -> int:
        """Threads that still run tasks whose attempts have ended."""
        return self._threads.abandoned

    def _may_take(self) -> bool:
        return self.state == "running"

    def _free(self) -> int:
        return self.options.concurrency - len(self.active) - self._threads.abandoned

    async def _take_jobs(self) -> None:
        delay_s, empty_s = FIRST_RETRY_S, BURST_FIRST_S
        while not self.is_stopping:
            free = self._free()
            if free <= 0 or self._is_quiet:
                self._changed.clear()
                await self._changed.wait()
                continue
            # Asked before the queue is looked at: a job that fails meanwhile may be ready again behind that look.
            was_idle = not self.active and not self._finisher.unsent
            self._has_cut_off = False
            self._taking = self._loop.create_task(self._source.take(free))
            try:
                jobs = await self._taking
            except asyncio.CancelledError:
                me = asyncio.current_task()
                if not self._has_cut_off or (me is not None and me.cancelling()):
                    raise
                continue  # it was told to take no more, and perhaps to go on meanwhile
            except (TaskqError, NotConfiguredError) as error:  # also of a proxy that answers in the server's place
                if delay_s == FIRST_RETRY_S:
                    self._log(logging.WARNING, "no jobs can be taken at the moment", error=str(error)[:200])
                self._is_reached = False
                await asyncio.sleep(delay_s)
                delay_s = min(2 * delay_s, LONGEST_RETRY_S)
                continue
            finally:
                self._taking = None
            self._is_reached = True
            delay_s = FIRST_RETRY_S
            for delivery in jobs:
                self._start(delivery)
            if not jobs and self.options.burst and was_idle:
                self.stop(StopReason.EMPTY)
            elif not jobs and self.options.burst:
                await asyncio.sleep(empty_s)
                empty_s = min(2 * empty_s, BURST_LONGEST_S)
            else:
                empty_s = BURST_FIRST_S

    # Running them.

    def _start(self, delivery: Delivery) -> None:
        now = time.monotonic()
        lease_ends = now + self.options.lease_s
        if (before := self.active.get(delivery.job_id)) is not None:
            # Its lease had run out and nobody else took it. Not twice at once, so the new attempt has to wait.
            before.interrupt(Why.LEASE_LOST)
            self._finish(delivery, lease_ends, Released(OVERLAP_FIRST_S))
            return
        try:
            message = read_message(
                delivery.body,
                serializers=self.app.serializers,
                cipher=self.app.cipher,
                accept_plaintext=self.app.accept_plaintext,
            )
        except SerializationError as error:
            self._park(delivery, lease_ends, read_task_name(delivery.body) or "?", str(error))
            return
        try:
            task = self.app.find_task(message.task)
        except LookupError as error:
            self._park(delivery, lease_ends, message.task, str(error))
            return
        if message.version != task.options.version:
            reason = f"it is of version {message.version}, this worker has version {task.options.version}"
            self._park(delivery, lease_ends, message.task, reason)
        else:
            context = Context(
                app=self.app,
                job_id=delivery.job_id,
                queue=delivery.queue,
                task=task.name,
                worker_id=self.id,
                attempt=delivery.attempt,
                tries_left=delivery.remain_tries,
                state=self._context_state,
                attributes=delivery.attributes or {},
                taken_at=now,
                workflow_id=message.workflow.get("id", ""),
                node=message.workflow.get("node", ""),
            )
            keeps = task.options.retention_s > 0 if message.result is None else message.result
            attempt = Attempt(delivery, task, message, context, now, lease_ends, now, keeps)
            self.active[delivery.job_id] = attempt
            attempt.runner = self._loop.create_task(self._run(attempt))

    def _park(self, delivery: Delivery, lease_ends: float, task: str, reason: str) -> None:
        """Give back a job that another version of the worker may know, and show it. The delay doubles each time."""
        times = min(delivery.attempt - delivery.used, 10)
        delay_s = min(PARK_LONGEST_S, PARK_FIRST_S * 2**times)
        task, reason = task[:PARKED_TEXT_MAX], reason[:PARKED_TEXT_MAX]  # a stranger may have written them
        place = (delivery.queue, task, reason)
        if place not in self.parked and len(self.parked) >= PARKED_KINDS_MAX:
            place = (delivery.queue, "others", "")
        self.parked[place] += 1
        self._log(logging.WARNING, "job parked", job=delivery.job_id, task=task, reason=reason, delay_s=delay_s)
        fields = {"parked": f"{task}: {reason}"}
        job = (delivery.queue, delivery.job_id)
        self._lease_renewer.annotate_soon(*job, fields, keep_s=delay_s + 60)
        self._finish(delivery, lease_ends, Released(delay_s))

    async def _run(self, attempt: Attempt) -> None:
        delivery = attempt.delivery
        try:
            if attempt.task.is_generator and delivery.attempt > 1:
                await self._lease_renewer.load_cursor(attempt)
            ended = await self._held_by_another(attempt) or await self._runner.run(attempt)
        except asyncio.CancelledError:  # before it has begun
            ended = interrupted(attempt)
        except Exception as error:  # a defect of ours, or of a key= function
            self._log(logging.ERROR, "job failed outside of its task", job=delivery.job_id, error=describe(error))
            ended = Failed(describe(error))
        attempt.has_ended = True
        try:
            if not isinstance(ended, Lost):
                if attempt.cursor != attempt.cursor_saved or attempt.context._changed:  # noqa: SLF001 - its own
                    await self._lease_renewer.save_note(attempt)
                self._finish(delivery, attempt.lease_ends, ended)
        finally:
            # Not before its end is on its way: a worker without active jobs may end.
            if self.active.get(delivery.job_id) is attempt:
                del self.active[delivery.job_id]
            self._changed.set()
        self._count(attempt, ended)

    async def _held_by_another(self, attempt: Attempt) -> Released | Failed | None:
        """The end of an attempt at a task that must not overlap with itself, if another job with its key runs."""
        options = attempt.task.options
        if options.key is None or options.key_mode != "no_overlap":
            return None
        try:
            args, kwargs = attempt.task.read_arguments(attempt.message.args, attempt.message.kwargs)
            key = attempt.task.key_of(options, args, kwargs)
            delivery = attempt.delivery
            broker = self.app.broker
            holder = await broker.arun(broker.hold_key(delivery.queue, key, delivery.job_id))
        except (NotConfiguredError, *PASSING) as error:
            self._log(
                logging.WARNING, "a key cannot be held at the moment", job=delivery.job_id, error=str(error)[:200]
            )
            return Released(OVERLAP_FIRST_S)
        except (TaskqError, TaskqClientError) as error:
            return Failed(str(error), is_dead=True)  # a key that is too long, or does not fit: no try would go better
        if holder is None:
            return None
        put_back = delivery.attempt - delivery.used
        latest_s = min(OVERLAP_LONGEST_S, OVERLAP_FIRST_S * 2 ** min(put_back, 10))
        return Released(latest_s * random.uniform(0.5, 1.0), f"job {holder} runs")  # noqa: S311 - not all at once

    def _count(self, attempt: Attempt, ended: Ended) -> None:
        self.done += isinstance(ended, Done)
        if isinstance(ended, Failed):
            self.failed += 1
            delivery = attempt.delivery
            fields = {"job": delivery.job_id, "task": attempt.task.name, "attempt": delivery.attempt}
            self._log(logging.WARNING, "job failed", error=ended.error.partition("\n")[0][:300], **fields)
        if self.options.max_jobs is not None and self.done + self.failed >= self.options.max_jobs:
            self.stop_for(StopReason.MAX_JOBS)

    def _finish(self, delivery: Delivery, lease_ends: float, ended: Ended) -> None:
        self._finisher.finish(ending_of(delivery, lease_ends, ended))

    def _on_lost(self, ending: Ending, reason: str) -> None:
        fields = {"job": ending.job_id, "attempt": ending.attempt, "reason": reason}
        self._log(logging.WARNING, "the end of an attempt was not accepted: the job may run again", **fields)

    # Ending.

    async def _drain(self) -> None:
        ends = self._loop.time() + self.options.grace_s
        for attempt in list(self.active.values()):
            if attempt.is_resumable:
                attempt.interrupt(Why.STOPPING)
        while self.active and not self._is_hurried and self._loop.time() < ends:
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(ends):
                    await self._changed.wait()
        left = list(self.active.values())
        for attempt in left:
            if attempt.has_ended:
                continue
            if attempt.why is None or attempt.why is Why.STOPPING:
                attempt.why = Why.STOPPING
                attempt.cut_off()
        if left:
            self._log(logging.WARNING, "jobs are given back", jobs=len(left))
            await asyncio.wait([attempt.runner for attempt in left if attempt.runner], timeout=FINISH_AT_THE_END_S)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(FINISH_AT_THE_END_S, self.options.lease_s)):
                await self._finisher.drain()
