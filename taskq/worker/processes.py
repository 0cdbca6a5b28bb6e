"""Tasks in processes of their own: for work that takes a core, and that must be killed when its time is up.

Progress, log lines and cursors come through one pipe for each process. A pipe that all shared would need a lock, and a
process that is killed while it holds that would silence the others for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import itertools
import logging
import multiprocessing.context
import os
import pickle
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, Final

from ..app import App
from ..context import Context, cursor_to_json, enter_context, line_of_log
from ..errors import NotConfiguredError, SerializationError
from ..outcomes import Cancel, Retry, Snooze, TaskFailedInProcessError, describe
from ..serializers import from_json, to_json
from ..task import Task
from .attempt import Attempt

logger = logging.getLogger("taskq.worker")

TASKS_PER_PROCESS: Final = 1_000
"""Tasks after which a process is replaced: this bounds what a leak may cost."""

READ_BYTES: Final = 64 * 1024
READS_FOR_ALL: Final = 32
"""So many reads take all that was in a pipe before: 64 KiB mostly, 1 MiB at the most."""

MESSAGE_MAX_BYTES: Final = 1024 * 1024
"""A message is a line, or a cursor at the most: a longer one is none."""

EXPIRED_AFTER_S: Final = 5.0
"""How long after the end of its process an attempt may still end as pebble says, which takes a tenth of a second."""

_LENGTH: Final = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class _Order:
    """A task for a process. `deadline`: by `time.monotonic()`, which all processes of a host share."""

    number: int
    """Of this order: a job may run again while messages of an attempt before are on their way."""
    setup: str | None
    """A module that is imported first."""
    module: str
    task: str
    job_id: str
    queue: str
    worker_id: str
    attributes: Mapping[str, str]
    workflow_id: str
    node: str
    attempt: int
    tries_left: int
    cursor: Any
    deadline: float | None
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
        self._numbers = itertools.count(1)
        self._running: dict[int, _Running] = {}
        """By the number of the order."""
        self._pipes: set[_MessageReader] = set()

    async def run(self, task: Task[..., Any], attempt: Attempt, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run a task in a process. Returns its result, or raises what it raised."""
        if self._pool is None or not self._pool.active:
            self._open()
        context = attempt.context
        order = _Order(
            number=next(self._numbers),
            setup=task.app.process_setup,
            module=task.function.__module__,
            task=task.name,
            job_id=context.job_id,
            queue=context.queue,
            worker_id=context.worker_id,
            attributes=dict(context.attributes),
            workflow_id=context.workflow_id,
            node=context.node,
            attempt=context.attempt,
            tries_left=context.tries_left,
            cursor=context.cursor,
            deadline=context.deadline,
            keeps_result=attempt.keeps_result,
            args=args,
            kwargs=kwargs,
        )
        future = self._pool.submit(_run, None, order)
        running = self._running[order.number] = _Running(attempt, future)
        try:
            ended = await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            future.cancel()  # pebble kills the process that runs it
            if running.has_expired and not _is_cancelled():
                raise _process_expired() from None
            raise
        finally:
            self._read_all()
            del self._running[order.number]
        if isinstance(ended, _Raised):
            raise ended.error()
        if task.is_generator:
            attempt.cursor = None
        return None if ended is None else from_json(ended)

    def close(self) -> None:
        """Kill the processes that still run."""
        if self._pool is not None:
            self._pool.stop()
            self._pool.join()
            self._pool = None
        for pipe in list(self._pipes):
            self._close_pipe(pipe)

    def _open(self) -> None:
        try:
            from pebble import ProcessPool
        except ImportError as error:
            text = "tasks with process=True need the package pebble: pip install 'taskq[processes]'"
            raise NotConfiguredError(text) from error
        self.close()  # of a pool that broke, what is left
        loop = asyncio.get_running_loop()

        def add_pipe(connection: Connection) -> None:
            """Called in a thread of the pool, before the process begins."""
            pipe = _MessageReader(connection, self._on_message)
            self._pipes.add(pipe)
            try:
                loop.call_soon_threadsafe(self._watch_pipe, pipe)
            except RuntimeError:  # the loop has ended
                self._pipes.discard(pipe)
                pipe.close()

        self._pool = ProcessPool(
            max_workers=self._processes, max_tasks=TASKS_PER_PROCESS, context=_ProcessContext(add_pipe)
        )

    def _watch_pipe(self, pipe: _MessageReader) -> None:
        if pipe in self._pipes:  # it may have been closed meanwhile
            asyncio.get_running_loop().add_reader(pipe.fileno(), self._read, pipe)

    def _read(self, pipe: _MessageReader) -> bool:
        """Pass on what a process reported, a bounded part of it. Returns whether there may be more."""
        try:
            return pipe.read()
        except EOFError:  # the process ended; the beginning of a message that it did not finish is dropped
            self._close_pipe(pipe)
            if pipe.order is not None:
                asyncio.get_running_loop().call_later(EXPIRED_AFTER_S, self._expire, pipe.order)
        except Exception as error:
            logger.exception(
                "messages of a process cannot be read", extra={"action": "worker.process", "error": str(error)}
            )
            self._close_pipe(pipe)
        return False

    def _read_all(self) -> None:
        """Pass on what was reported until now."""
        for pipe in list(self._pipes):
            for _ in range(READS_FOR_ALL):
                if not self._read(pipe):
                    break

    def _expire(self, number: int) -> None:
        """End the attempt of a process that has ended. Where pebble sees the end of a process before it has read which
        task that took, it does not: the attempt would last for as long as the worker."""
        running = self._running.get(number)
        if running is not None and not running.future.done():
            running.has_expired = True
            running.future.cancel()

    def _close_pipe(self, pipe: _MessageReader) -> None:
        self._pipes.discard(pipe)
        asyncio.get_running_loop().remove_reader(pipe.fileno())
        pipe.close()

    def _on_message(self, number: int, kind: str, content: Any) -> None:
        running = self._running.get(number)
        if running is None:
            return
        attempt = running.attempt
        if kind == "progress":
            attempt.context.progress(*content)
        elif kind == "log":
            attempt.context.log(content)
        elif kind == "extend":
            attempt.context.extend(content)
        else:
            attempt.cursor = content


@dataclass(slots=True, eq=False)
class _Running:
    """An order that a process has, or is to get. `has_expired`: the process has ended, and `future` not with it."""

    attempt: Attempt
    future: Future[Any]
    has_expired: bool = False


def _is_cancelled() -> bool:
    """Whether somebody cancels the task that runs now."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _process_expired() -> Exception:
    """What pebble raises for a task whose process ended."""
    from pebble import ProcessExpired

    return ProcessExpired("Abnormal termination")  # type: ignore[no-untyped-call]


class _MessageReader:
    """The worker's end of a pipe. A message is its length in four bytes, then a pickled tuple.

    `order`: the number of the order that the process began last.
    """

    def __init__(self, connection: Connection, on_message: Callable[[int, str, Any], None]) -> None:
        self._connection = connection
        self._on_message = on_message
        self._unread = bytearray()
        self.order: int | None = None
        os.set_blocking(connection.fileno(), False)

    def fileno(self) -> int:
        return self._connection.fileno()

    def close(self) -> None:
        self._connection.close()

    def read(self) -> bool:
        """Pass on complete messages. False: there were none. Raises EOFError, ValueError."""
        try:
            read = os.read(self.fileno(), READ_BYTES)
        except BlockingIOError:
            return False
        if not read:
            raise EOFError
        unread = self._unread
        unread += read
        begin = 0
        while len(unread) >= begin + _LENGTH.size:
            (length,) = _LENGTH.unpack_from(unread, begin)
            if length > MESSAGE_MAX_BYTES:
                raise ValueError(f"a message of {length:,} bytes")
            end = begin + _LENGTH.size + length
            if len(unread) < end:
                break
            number, kind, content = pickle.loads(unread[begin + _LENGTH.size : end])  # noqa: S301 - from our own process
            if kind == "begin":
                self.order = number
            else:
                self._on_message(number, kind, content)
            begin = end
        del unread[:begin]
        return True


class _MessageWriter:
    """The end of a pipe in its process, whose threads share it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        os.set_inheritable(connection.fileno(), False)  # what a task starts may outlive this process, and its pipe

    def send(self, number: int, kind: str, content: Any) -> None:
        message = pickle.dumps((number, kind, content))
        unsent = memoryview(_LENGTH.pack(len(message)) + message)
        with self._lock, contextlib.suppress(BrokenPipeError):  # the worker is gone, and this process soon will be
            while unsent:
                unsent = unsent[os.write(self._connection.fileno(), unsent) :]


_writer: _MessageWriter
"""In a process of the pool: the pipe for what tasks report."""


class _Process(multiprocessing.context.SpawnProcess):
    """A process of the pool, which holds the only open end to write of its pipe."""

    def __init__(self, connection: Connection, **options: Any) -> None:
        super().__init__(**options)
        self._connection = connection

    def start(self) -> None:
        try:
            super().start()
        finally:
            self._connection.close()  # so that the pipe ends with the process

    def run(self) -> None:
        global _writer
        _writer = _MessageWriter(self._connection)
        super().run()


class _ProcessContext(multiprocessing.context.SpawnContext):
    """Starts processes that have a pipe, whose other end it gives to `add_pipe`. Not fork: the worker has threads."""

    def __init__(self, add_pipe: Callable[[Connection], None]) -> None:
        super().__init__()
        self._add_pipe = add_pipe

    def Process(self, **options: Any) -> _Process:  # type: ignore[override]  # noqa: N802 - a class, in others
        reader, writer = self.Pipe(duplex=False)
        self._add_pipe(reader)
        return _Process(writer, **options)


@dataclass(slots=True)
class _TaskContext(Context):
    """Passes what is reported in a process on to the worker's process."""

    _number: int = field(default=0, repr=False)

    def progress(self, percent: float, note: str = "") -> None:
        Context.progress(self, percent, note)
        _writer.send(self._number, "progress", (self.percent, self.note))

    def log(self, line: str) -> None:
        _writer.send(self._number, "log", line_of_log(line))

    def extend(self, seconds: float) -> None:
        Context.extend(self, seconds)
        _writer.send(self._number, "extend", seconds)


@dataclass(frozen=True, slots=True)
class _Raised:
    """What a task raised, as data: an exception of the user's may not be readable in another process, and would break
    the pool.
    """

    kind: str
    text: str
    delay_s: float | None = None
    is_dead: bool = False

    def error(self) -> Exception:
        """For the attempt, whose end it says."""
        if self.kind == "retry":
            return Retry(self.delay_s, self.text)
        if self.kind == "snooze":
            return Snooze(self.delay_s or 0.0, self.text)
        if self.kind == "cancel":
            return Cancel(self.text)
        return TaskFailedInProcessError(self.text, self.is_dead)


def _raised(error: Exception, task: Task[..., Any]) -> _Raised:
    if isinstance(error, Retry):
        return _Raised("retry", error.reason, error.delay_s)
    if isinstance(error, Snooze):
        return _Raised("snooze", error.reason, error.delay_s)
    if isinstance(error, Cancel):
        return _Raised("cancel", error.reason)
    if isinstance(error, SerializationError):
        return _Raised("failure", str(error), is_dead=True)
    return _Raised("failure", describe(error), is_dead=not task.options.retry_policy.retries(error))


def _run(order: _Order) -> bytes | _Raised | None:
    """In the process. The result as JSON, or what was raised, in a form that can be sent.

    The function is found by the module that declares it, for a decorated one cannot be pickled.
    """
    _writer.send(order.number, "begin", None)
    task = _find(order)
    context = _TaskContext(
        app=task.app,
        job_id=order.job_id,
        queue=order.queue,
        task=order.task,
        worker_id=order.worker_id,
        attributes=order.attributes,
        workflow_id=order.workflow_id,
        node=order.node,
        attempt=order.attempt,
        tries_left=order.tries_left,
        cursor=order.cursor,
        deadline=order.deadline,
        _number=order.number,
    )
    enter_context(context)
    try:
        value = asyncio.run(_call(task, context, order))
        return to_json(value) if order.keeps_result and value is not None else None
    except Exception as error:
        return _raised(error, task)


def _find(order: _Order) -> Task[..., Any]:
    if order.setup is not None:
        importlib.import_module(order.setup)
    for value in vars(importlib.import_module(order.module)).values():
        app: Any = None
        with contextlib.suppress(Exception):  # a proxy of some framework raises whatever it is asked
            app = value if isinstance(value, App) else getattr(value, "app", None)
        if isinstance(app, App) and order.task in app.tasks:
            return app.tasks[order.task]
    raise NotConfiguredError(f"{order.module} does not declare the task {order.task} at its top level")


async def _call(task: Task[..., Any], context: Context, order: _Order) -> Any:
    async with task.resolver.provide(context) as provided:
        args, kwargs = task.place(order.args, order.kwargs, provided)
        value = task.function(*args, **kwargs)
        if inspect.isgenerator(value):
            with contextlib.closing(value) as steps:
                for cursor in steps:
                    _writer.send(order.number, "cursor", cursor_to_json(cursor))
            return None
        if inspect.isasyncgen(value):
            async with contextlib.aclosing(value) as async_steps:
                async for cursor in async_steps:
                    _writer.send(order.number, "cursor", cursor_to_json(cursor))
            return None
        return await value if inspect.isawaitable(value) else value
