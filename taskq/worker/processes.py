"""Tasks in processes of their own: for work that takes a core, and that must be killed when its time is up."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import logging
import multiprocessing
import threading
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ..app import App
from ..context import Context, enter_context
from ..error_text import describe
from ..outcomes import NotConfiguredError, Outcome, SerializationError, TaskFailedInProcessError
from ..serializers import from_json, to_json
from ..task import Task

if TYPE_CHECKING:
    from .attempts import Attempt

logger = logging.getLogger("taskq.worker")

TASKS_PER_PROCESS: Final = 1_000
"""A process is replaced after so many, which bounds what a leak may cost."""

_said: Any = None
"""In a process of the pool: where what tasks say goes."""


@dataclass(frozen=True, slots=True)
class _Order:
    """What a process is to do."""

    setup: str | None
    """A module that is imported first."""
    module: str
    task: str
    job_id: str
    queue: str
    attempt: int
    tries_left: int
    cursor: Any
    keeps_result: bool
    args: Sequence[Any]
    kwargs: Mapping[str, Any]


class ProcessRunner:
    """A pool of processes (pebble), started with its first task. A process whose task is interrupted is killed."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self.slots = asyncio.Semaphore(processes)
        """One for each process: a task's time begins when it has one."""
        self._pool: Any = None
        self._said: Any = None
        self._running: dict[str, Attempt] = {}

    async def run(self, task: Task[..., Any], attempt: Attempt, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The task's result. Raises what it raised."""
        if self._pool is None or not self._pool.active:
            self._open()
        context = attempt.context
        order = _Order(
            setup=task.app.process_setup,
            module=task.function.__module__,
            task=task.name,
            job_id=context.job_id,
            queue=context.queue,
            attempt=context.attempt,
            tries_left=context.tries_left,
            cursor=context.cursor,
            keeps_result=attempt.keeps_result,
            args=args,
            kwargs=kwargs,
        )
        future = self._pool.submit(_run, None, order)
        self._running[context.job_id] = attempt
        try:
            ended = await asyncio.wrap_future(future)
            if isinstance(ended, BaseException):
                raise ended
            return None if ended is None else from_json(ended)
        except asyncio.CancelledError:
            future.cancel()  # pebble kills the process that runs it
            raise
        finally:
            self._running.pop(context.job_id, None)

    def close(self) -> None:
        """Kill what still runs."""
        if self._pool is not None:
            self._pool.stop()
            self._pool.join()
            self._pool = None  # and the thread that listens ends with this process

    def _open(self) -> None:
        try:
            from pebble import ProcessPool
        except ImportError as error:
            text = "tasks with process=True need the package pebble: pip install 'taskq[processes]'"
            raise NotConfiguredError(text) from error
        # Not fork: the worker has threads and an event loop.
        context = multiprocessing.get_context("spawn")
        self._said = context.SimpleQueue()
        self._pool = ProcessPool(
            max_workers=self._processes,
            max_tasks=TASKS_PER_PROCESS,
            initializer=_begin,
            initargs=(self._said,),
            context=context,
        )
        threading.Thread(target=self._listen, args=(self._said,), daemon=True).start()

    def _listen(self, said: Any) -> None:
        """Hand on what tasks say."""
        while True:
            try:
                self._hand_on(*said.get())
            except (EOFError, OSError):
                return
            except Exception:
                logger.exception("what a task said could not be read", extra={"action": "worker.process"})

    def _hand_on(self, job_id: str, kind: str, content: Any) -> None:
        attempt = self._running.get(job_id)
        if attempt is None:
            return
        if kind == "progress":
            attempt.context.progress(*content)
        elif kind == "log":
            attempt.context.log(content)
        elif kind == "extend":
            attempt.context.extend(content)
        else:
            attempt.cursor = content


def _begin(said: Any) -> None:
    global _said
    _said = said


@dataclass(slots=True)
class _ProcessContext(Context):
    """What is said in a process is told to the worker's."""

    _job: str = field(default="", repr=False)

    def progress(self, percent: float, note: str = "") -> None:
        _said.put((self._job, "progress", (percent, note)))

    def log(self, line: str) -> None:
        _said.put((self._job, "log", str(line)))

    def extend(self, seconds: float) -> None:
        _said.put((self._job, "extend", seconds))


def _run(order: _Order) -> bytes | BaseException | None:
    """In the process. The result as JSON, or what was raised, in a form that can be sent.

    The function is found by the module that declares it, for a decorated one cannot be pickled.
    """
    task = _find(order)
    context = _ProcessContext(
        app=task.app,
        job_id=order.job_id,
        queue=order.queue,
        task=order.task,
        attempt=order.attempt,
        tries_left=order.tries_left,
        cursor=order.cursor,
        _job=order.job_id,
    )
    enter_context(context)
    try:
        value = asyncio.run(_call(task, context, order))
        return to_json(value) if order.keeps_result and value is not None else None
    except (Outcome, SerializationError) as error:
        return error
    except Exception as error:
        return TaskFailedInProcessError(describe(error), not task.options.retry_policy.retries(error))


def _find(order: _Order) -> Task[..., Any]:
    if order.setup is not None:
        importlib.import_module(order.setup)
    for value in vars(importlib.import_module(order.module)).values():
        app = value if isinstance(value, App) else getattr(value, "app", None)
        if isinstance(app, App) and order.task in app.tasks:
            return app.tasks[order.task]
    raise NotConfiguredError(f"{order.module} does not declare the task {order.task} at its top level")


async def _call(task: Task[..., Any], context: Context, order: _Order) -> Any:
    async with AsyncExitStack() as stack:
        provided = await task.resolver.resolve(context, stack)
        args, kwargs = task.place(order.args, order.kwargs, provided)
        value = task.function(*args, **kwargs)
        if inspect.isgenerator(value):
            for cursor in value:
                _said.put((order.job_id, "cursor", to_json(cursor)))
            return None
        if inspect.isasyncgen(value):
            async for cursor in value:
                _said.put((order.job_id, "cursor", to_json(cursor)))
            return None
        return await value if inspect.isawaitable(value) else value
