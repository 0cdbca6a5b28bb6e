"""How workers run tasks of Django's Tasks: called with their context, told by signals.

`task_started` is sent before each attempt, `task_finished` once: when the result is final. They are sent in the thread,
or the event loop, in which the function runs; `task_finished` of an attempt that was interrupted comes from the event
loop. A worker that is killed sends nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from traceback import format_exception
from typing import Any, Final

from django.utils import timezone

from queues.engine import TaskqError
from queues.engine.constants import BODY_MAX_BYTES

from ..app import App
from ..context import Context, current_context
from ..errors import SerializationError
from ..middleware import Middleware, Running
from ..options import TaskOptions
from ..outcomes import Cancel, Snooze
from ..serializers import to_json
from ..task import Task as TaskqTask
from .compat import (
    BaseTaskBackend,
    Task,
    TaskContext,
    TaskError,
    TaskResult,
    TaskResultStatus,
    normalize_json,
    task_finished,
    task_started,
)
from .results import ResultId, class_path, noted_error, result_of_job

NOTE_MIN_S: Final = 3_600
"""Tracebacks are kept as long as results, and at least so long."""

READ_AGAIN_S: Final = 1.0
"""When a job runs that could not be read as its attempt began."""


class DjangoTask(TaskqTask[..., Any]):
    """A task of Django's Tasks as a worker runs it. Arguments are passed on as JSON has them, whatever the
    annotations.
    """

    def __init__(
        self, app: App, name: str, django_task: Task[..., Any], backend: BaseTaskBackend, options: TaskOptions
    ) -> None:
        function = _coroutine(self) if iscoroutinefunction(django_task.func) else _function(self)
        super().__init__(app, function, name, options)
        self.django_task = django_task
        self.backend = backend
        self.executions: dict[str, Execution] = {}
        """Of the attempts that run, by the job's id."""

    def execution(self) -> Execution:
        """That of the attempt in which this code runs."""
        return self.executions[current_context().job_id]


def _function(task: DjangoTask) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        execution = task.execution()
        try:
            task_started.send(execution.sender, task_result=execution.result)
            value = execution.check_value(task.django_task.func(*execution.arguments(args), **kwargs))
        except BaseException as error:
            if execution.fail(error):
                task_finished.send_robust(execution.sender, task_result=execution.result)
            raise
        if execution.succeed(value):
            task_finished.send_robust(execution.sender, task_result=execution.result)
        return value

    return call


def _coroutine(task: DjangoTask) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        execution = task.execution()
        try:
            await task_started.asend(execution.sender, task_result=execution.result)
            value = execution.check_value(await task.django_task.func(*execution.arguments(args), **kwargs))
        except asyncio.CancelledError:
            raise  # DjangoTaskMiddleware knows why
        except BaseException as error:
            if execution.fail(error):
                await task_finished.asend_robust(execution.sender, task_result=execution.result)
            raise
        if execution.succeed(value):
            await task_finished.asend_robust(execution.sender, task_result=execution.result)
        return value

    return call


@dataclass(eq=False)
class Execution:
    """One attempt, and the arguments of its signals."""

    task: DjangoTask
    context: Context
    result: TaskResult[Any]
    error: TaskError | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _is_ended: bool = False

    @property
    def sender(self) -> type[Any]:
        """The sender of signals: the backend's class."""
        return type(self.task.backend)

    def arguments(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of the function: the TaskContext before the others, if it takes one."""
        return (TaskContext(task_result=self.result), *args) if self.task.django_task.takes_context else args

    def check_value(self, value: Any) -> Any:
        """What the function returned, as JSON has it. Raises TypeError or ValueError for what cannot be kept."""
        normalized = normalize_json(value)
        size = len(to_json(normalized))
        if size > BODY_MAX_BYTES:
            raise ValueError(f"the return value takes {size:,} bytes, at most {BODY_MAX_BYTES:,} are kept")
        return normalized

    def succeed(self, value: Any) -> bool:
        """Note that the function returned. Whether `task_finished` is to be sent."""
        if not self._end():
            return False
        object.__setattr__(self.result, "_return_value", value)
        self._finish(TaskResultStatus.SUCCESSFUL)
        return True

    def fail(self, error: BaseException) -> bool:
        """Note that the function raised. Whether `task_finished` is to be sent: not if it is tried again."""
        if isinstance(error, Snooze) or not self._end():
            return False
        traceback = error.__traceback__
        frames = traceback.tb_next if traceback is not None else None  # without the frame of this module
        self._add_error(class_path(error), "".join(format_exception(type(error), error, frames or traceback)))
        policy = self.task.options.retry_policy
        ends = isinstance(error, Cancel | SerializationError) or not policy.retries(error)
        return self._finish(TaskResultStatus.FAILED if ends or self.context.tries_left == 0 else TaskResultStatus.READY)

    def interrupt(self) -> bool:
        """Note that the attempt was ended from outside. Whether `task_finished` is to be sent."""
        reason = self.context.cancel_reason
        if not self._end() or reason in ("lease lost", "the worker stops"):
            return False
        error = {"timeout": TimeoutError(), "cancelled": Cancel()}.get(reason, asyncio.CancelledError())
        self._add_error(class_path(error), reason or "the task cancelled itself")
        ends = reason == "cancelled" or self.context.tries_left == 0
        return self._finish(TaskResultStatus.FAILED if ends else TaskResultStatus.READY)

    def _end(self) -> bool:
        """Mark it as ended. False: it had ended already, since a thread may return after its attempt was given up."""
        with self._lock:
            first, self._is_ended = not self._is_ended, True
        return first

    def _add_error(self, path: str, traceback: str) -> None:
        self.error = TaskError(exception_class_path=path, traceback=traceback)
        self.result.errors.append(self.error)

    def _finish(self, status: TaskResultStatus) -> bool:
        object.__setattr__(self.result, "status", status)
        if status == TaskResultStatus.READY:
            return False
        object.__setattr__(self.result, "finished_at", timezone.now())
        return True


class DjangoTaskMiddleware(Middleware):
    """Provides each attempt at a task of Django's Tasks with its Execution, and keeps the errors' tracebacks."""

    async def around_run(self, run: Running, call_next: Callable[[], Awaitable[Any]]) -> Any:
        context = run.context
        assert context.app is not None
        task = context.app.find_task(context.task)
        if not isinstance(task, DjangoTask):
            return await call_next()
        execution = Execution(task, context, await _running_result(task, run))
        task.executions[context.job_id] = execution
        try:
            return await call_next()
        except asyncio.CancelledError:
            if execution.interrupt():
                await task_finished.asend_robust(execution.sender, task_result=execution.result)
            raise
        except BaseException:
            if execution.error is not None:
                await _save_error(task, context, execution.error)
            raise
        finally:
            task.executions.pop(context.job_id, None)


async def _running_result(task: DjangoTask, run: Running) -> TaskResult[Any]:
    """The result as the attempt begins. Jobs that were taken before are read: they have earlier attempts."""
    context = run.context
    name = context.attributes.get("result_id") or context.job_id
    result_id = str(ResultId(context.queue, name))
    broker = task.app.broker
    note: dict[str, bytes] = {}
    try:
        job = await broker.arun(broker.detail(context.queue, context.job_id))
        if job is not None and job.history:
            note = await broker.arun(broker.note(context.queue, context.job_id))
    except TaskqError as error:  # no fault of the task: it must not cost its only try
        raise Snooze(READ_AGAIN_S, f"the job could not be read: {error}") from error
    if job is None:
        raise Snooze(0, "the job was deleted")
    return result_of_job(
        task.django_task, task.backend.alias, result_id, job, args=list(run.args), kwargs=dict(run.kwargs), note=note
    )


async def _save_error(task: DjangoTask, context: Context, error: TaskError) -> None:
    """Keep an attempt's traceback. It is worth no failure: the engine keeps the beginning of it anyway."""
    broker = task.app.broker
    keep_ms = round(1_000 * max(task.options.retention_s, NOTE_MIN_S))
    fields = noted_error(context.attempt, error)
    with contextlib.suppress(TaskqError):
        await broker.arun(broker.annotate(context.queue, context.job_id, fields, lines=(), keep_ms=keep_ms))
