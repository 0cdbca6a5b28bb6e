"""Inline mode: tasks run within `enqueue`. And the record of what was enqueued, for assertions."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from queues.engine import JobState

from ..app import App
from ..context import Context, enter_context, leave_context
from ..job import Job, Progress
from ..message import Message, read_message
from ..serializers import from_json, to_json
from ..task import Prepared, Task


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
        """The calls of one task."""
        name = task if isinstance(task, str) else task.name
        return [call for call in self.enqueued if call.task == name]


def assert_enqueued(recorder: Recorder, task: Task[..., Any] | str, *args: Any, **kwargs: Any) -> EnqueuedCall:
    """Fail unless the task was enqueued with these arguments, or at all if none are given. Returns the first such call.

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
        job: Job[Any] = run_in_thread(lambda: self.aenqueue(task, prepared))
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


def run_in_thread(make: Callable[[], Any]) -> Any:
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
