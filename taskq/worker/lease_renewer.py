"""Renews the leases of a worker's running jobs, sends their progress and the worker's heartbeat, receives commands.

`taskq workers` and the dashboard show what the heartbeat says.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from queues import __version__
from queues.engine import JobNotFoundError, LeaseLostError, TaskqError, WorkerCommand
from queues.engine.stats.heartbeats import ParkedTask, RunningJob, WorkerBeat

from ..errors import TaskqClientError
from ..serializers import from_json
from .attempt import Attempt, Why
from .finisher import LONGEST_RETRY_S, PASSING
from .options import StopReason
from .state import WorkerState

logger = logging.getLogger("taskq.worker")

ROUND_S: Final = 0.5
BEAT_S: Final = 1.0
BEAT_FOR_COMMANDS_S: Final = 0.5
"""Seconds between beats where commands come with them only: a cancelled job learns of it within a second."""

RENEW_PART: Final = 3
"""A lease is renewed when a third of it is over: two rounds may fail."""

PROGRESS_KEPT_S: Final = 3_600.0
CURSOR_KEPT_S: Final = 7 * 86_400.0
NOTE_LONGEST_S: Final = 30 * 86_400.0
"""As HTTP allows."""

LINES_TRIED_S: Final = 60.0
"""How long the last lines of an attempt are sent again if taskq was away when it ended."""

LINES_TRIED_MAX: Final = 100
"""Attempts whose last lines wait for that."""


class LeaseRenewer:
    """Runs beside the jobs of one worker. `obey` carries out a command; `stop_for` has the worker end."""

    def __init__(
        self, worker: WorkerState, *, obey: Callable[[WorkerCommand], None], stop_for: Callable[[StopReason], None]
    ) -> None:
        self._worker = worker
        self._obey = obey
        self._stop_for = stop_for
        self._broker = worker.app.broker
        self._since_ms = 0
        self._cpu = (time.monotonic(), time.process_time())
        self._beat_at = 0.0
        self._is_away = False
        self._soon: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Run until cancelled. Renewals wait for nothing else: a lease that runs out lets the job run twice."""
        await asyncio.gather(self._repeat(self._renew), self._repeat(self._tell))

    async def _repeat(self, step: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                async with asyncio.timeout(max(1.0, self._worker.options.lease_s / 6)):
                    await step()
            except Exception as error:  # whatever it is: without its rounds all leases would run out
                if not self._is_away:
                    self._is_away = True
                    fields = {"action": "worker.keep", "error": f"{type(error).__name__}: {error}"[:200]}
                    is_expected = isinstance(error, TaskqError)
                    logger.warning(
                        "leases and progress are not told at the moment", extra=fields, exc_info=not is_expected
                    )
            else:
                if self._is_away:
                    self._is_away = False
                    logger.info("leases and progress are told again", extra={"action": "worker.keep"})
            await asyncio.sleep(ROUND_S)

    async def _tell(self) -> None:
        now = time.monotonic()
        changed = [
            attempt
            for attempt in self._worker.active.values()
            if not attempt.has_ended and (attempt.cursor != attempt.cursor_saved or attempt.context._changed)  # noqa: SLF001 - its own
        ]
        await asyncio.gather(*map(self.save_note, changed))
        if now - self._beat_at >= (BEAT_S if self._worker.hears_commands else BEAT_FOR_COMMANDS_S):
            self._beat_at = now
            await self._beat()

    async def _renew(self) -> None:
        now = time.monotonic()
        lease_s = self._worker.options.lease_s
        due = [one for one in self._worker.active.values() if now - one.renewed >= lease_s / RENEW_PART]
        if not due:
            return
        works = [
            self._broker.extend(
                one.delivery.queue, one.delivery.job_id, attempt=one.delivery.attempt, ttr_ms=round(lease_s * 1_000)
            )
            for one in due
        ]
        first: TaskqError | None = None
        for attempt, outcome in zip(due, await self._broker.arun_all(works), strict=True):
            if isinstance(outcome, LeaseLostError | JobNotFoundError):
                attempt.interrupt(Why.LEASE_LOST)
            elif isinstance(outcome, TaskqError):
                first = first or outcome
            else:
                attempt.renewed, attempt.lease_ends = now, now + lease_s
        if first is not None:
            raise first

    async def _beat(self) -> None:
        now, used = time.monotonic(), time.process_time()
        passed = max(1e-6, now - self._cpu[0])
        cpu_percent = 100 * (used - self._cpu[1]) / passed
        self._cpu = (now, used)
        memory = memory_bytes()
        beat = beat_of(self._worker, cpu_percent, memory)
        reply = await self._broker.arun(self._broker.beat(beat, since_ms=self._since_ms, ends=False))
        if self._since_ms:  # what was said before this worker began does not concern it
            for command in reply.commands:
                self._obey(command)
        self._since_ms = reply.since_ms
        limit_mb = self._worker.options.max_memory_mb
        if limit_mb is not None and memory > limit_mb * 1024 * 1024:
            self._stop_for(StopReason.MAX_MEMORY)

    async def say_goodbye(self) -> None:
        """Send the last beat: this worker has ended."""
        if self._soon:
            await asyncio.wait(self._soon, timeout=1)
        with contextlib.suppress(TaskqError, TimeoutError):
            async with asyncio.timeout(2):
                beat = beat_of(self._worker, 0.0, 0)
                await self._broker.arun(self._broker.beat(beat, since_ms=self._since_ms, ends=True))

    async def load_cursor(self, attempt: Attempt) -> None:
        """Load the cursor at which an earlier attempt ended."""
        delivery = attempt.delivery
        try:
            note = await self._broker.arun(self._broker.note(delivery.queue, delivery.job_id))
            if raw := note.get("cursor"):
                attempt.context.cursor = from_json(raw)
                attempt.cursor = attempt.cursor_saved = raw
        except (TaskqError, TaskqClientError) as error:  # from the beginning, as without a cursor
            logger.warning("a cursor was not read", extra={"action": "worker.keep", "error": str(error)[:200]})

    async def save_note(self, attempt: Attempt) -> None:
        """Send what the handler said since it was sent last. What cannot be sent goes with the next note.

        A note whose answer is lost may be sent twice: a line that is there twice is better than none.
        """
        fields, lines = attempt.context.take_changes() or ({}, [])
        named: dict[str, str | bytes] = dict(fields)
        cursor = attempt.cursor
        if cursor != attempt.cursor_saved:
            named["cursor"] = cursor or b""
        keep_s = CURSOR_KEPT_S if cursor else PROGRESS_KEPT_S
        if attempt.snoozed_s:
            keep_s = min(NOTE_LONGEST_S, max(keep_s, attempt.snoozed_s + PROGRESS_KEPT_S))
        delivery = attempt.delivery
        is_settled = False
        try:
            await self._annotate(delivery.queue, delivery.job_id, named, lines, keep_s)
            attempt.cursor_saved = cursor
            is_settled = True
        except Exception as error:  # whatever it is: the end of the attempt must still be sent
            # What is refused for what it says is not sent again: it would keep the cursor from being saved.
            is_settled = not isinstance(error, (*PASSING, TaskqClientError))
            logger.info("progress was not told", extra={"action": "worker.keep", "error": str(error)[:200]})
        finally:  # also of a call that took too long
            if not is_settled and lines:
                self._keep_lines(attempt, lines, keep_s)

    def _keep_lines(self, attempt: Attempt, lines: Sequence[str], keep_s: float) -> None:
        if not attempt.has_ended:
            attempt.context.put_back(lines)
        elif len(self._soon) < LINES_TRIED_MAX:
            delivery = attempt.delivery
            job = (delivery.queue, delivery.job_id)
            self.annotate_soon(*job, {}, lines=lines, keep_s=keep_s, tried_s=LINES_TRIED_S)

    def annotate_soon(
        self,
        queue: str,
        job_id: str,
        fields: Mapping[str, str],
        *,
        lines: Sequence[str] = (),
        keep_s: float,
        tried_s: float = 0.0,
    ) -> None:
        """Write to the note of a job, in the background. While taskq is away it is tried again for `tried_s`."""

        async def say() -> None:
            ends = time.monotonic() + tried_s
            while True:
                try:
                    await self._annotate(queue, job_id, fields, lines, keep_s)
                    return
                except TaskqError as error:
                    if not isinstance(error, PASSING) or time.monotonic() >= ends:
                        return
                await asyncio.sleep(LONGEST_RETRY_S)

        task = asyncio.get_running_loop().create_task(say())
        self._soon.add(task)
        task.add_done_callback(self._soon.discard)

    async def _annotate(
        self, queue: str, job_id: str, fields: Mapping[str, str | bytes], lines: Sequence[str], keep_s: float
    ) -> None:
        work = self._broker.annotate(queue, job_id, fields, lines=lines, keep_ms=round(keep_s * 1_000))
        await self._broker.arun(work)


def memory_bytes() -> int:
    """The memory of this process, in bytes; where that is not known, its peak."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def beat_of(worker: WorkerState, cpu_percent: float, memory_bytes: int) -> WorkerBeat:
    """The heartbeat of a worker."""
    now = time.monotonic()
    running = [
        RunningJob(
            queue=attempt.delivery.queue,
            job_id=job_id,
            attempt=attempt.delivery.attempt,
            task=attempt.task.name,
            run_ms=round(1_000 * (now - attempt.started)),
            percent=attempt.context.percent,
            note=attempt.context.note,
        )
        for job_id, attempt in worker.active.items()
    ]
    parked = [ParkedTask(queue=q, task=t, reason=r, jobs=n) for (q, t, r), n in worker.parked.most_common(50)]
    return WorkerBeat(
        worker=worker.id,
        host=worker.host,
        pid=os.getpid(),
        version=__version__,
        namespace=worker.app.broker.namespace,
        state=worker.state,
        queues=dict(worker.options.queues),
        concurrency=worker.options.concurrency,
        up_ms=round(1_000 * (now - worker.started)),
        done=worker.done,
        failed=worker.failed,
        cpu_percent=round(cpu_percent, 1),
        memory_bytes=memory_bytes,
        running=tuple(running),
        parked=tuple(parked),
    )
