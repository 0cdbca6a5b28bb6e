"""One attempt at a job: from its body to how it ended, on the event loop, in a thread, or in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from queues.engine import StoreUnavailableError
from queues.engine.constants import BODY_MAX_BYTES

from ..context import cursor_to_json, enter_context, leave_context
from ..errors import ResultGoneError, SerializationError
from ..middleware import Running
from ..outcomes import Cancel, Retry, Snooze, TaskFailedInProcessError, describe
from ..serializers import to_json
from ..task import Task
from ..workflow_handle import results_taken
from .attempt import Attempt, Done, Ended, Failed, Lost, Released, Why
from .processes import ProcessRunner
from .threads import ThreadPool

RESULTS_AGAIN_S: Final = 1.0
"""Delay of a job that goes back because its arguments cannot be read at the moment."""


class AttemptRunner:
    """Runs attempts. `threads`: for synchronous tasks. `processes`: for those that are declared so."""

    def __init__(self, threads: ThreadPool, processes: ProcessRunner) -> None:
        self._threads = threads
        self._processes = processes

    async def run(self, attempt: Attempt) -> Ended:
        """Run an attempt, and return how it ended. Raises nothing that a task may raise."""
        task, context = attempt.task, attempt.context
        timeout_s = task.options.timeout_s
        token = enter_context(context)
        try:
            if timeout_s is not None and task.kind != "process":  # of which some may wait for a process first
                self._set_timeout(attempt, timeout_s)
            context._extend = lambda s: self._extend(attempt, s)  # noqa: SLF001
            taken = await results_taken(context.app or task.app, attempt.message.workflow)
            args, kwargs = task.read_arguments([*taken, *attempt.message.args], attempt.message.kwargs)
            attempt.has_begun = True
            value = await self._call_with_middleware(attempt, args, kwargs)
            if attempt.has_stopped:
                return Released()
            if attempt.was_cut_off:  # a task that swallows its cancellation has not done its work
                return interrupted(attempt)
            if not attempt.keeps_result or value is None:
                return Done(None)
            return _with_result(self._sealed(task, to_json(value)))
        except asyncio.CancelledError:
            return interrupted(attempt)
        except BaseException as error:
            if isinstance(error, SystemExit | KeyboardInterrupt):
                return Failed(f"the task raised {type(error).__name__}")
            return self._failed(attempt, error)
        finally:
            leave_context(token)
            if attempt.timer is not None:
                attempt.timer.cancel()

    def _sealed(self, task: Task[..., Any], result: bytes) -> bytes:
        cipher = task.app.cipher
        return result if cipher is None else to_json({"encrypted": cipher.encrypt(result).decode("ascii")})

    def _set_timeout(self, attempt: Attempt, timeout_s: float) -> None:
        attempt.context.deadline = time.monotonic() + timeout_s
        attempt.timer = asyncio.get_running_loop().call_later(timeout_s, attempt.interrupt, Why.TIMEOUT)

    def _extend(self, attempt: Attempt, timeout_s: float) -> None:
        """Called from the thread in which the task runs."""

        def move() -> None:
            if attempt.timer is not None:
                attempt.timer.cancel()
            if attempt.runner is not None and not attempt.runner.done():
                attempt.timer = loop.call_later(timeout_s, attempt.interrupt, Why.TIMEOUT)
                attempt.extended_s = timeout_s

        assert attempt.runner is not None
        loop = attempt.runner.get_loop()
        loop.call_soon_threadsafe(move)

    async def _call_with_middleware(self, attempt: Attempt, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        middleware = attempt.task.app.middleware
        if not middleware:
            return await self._call(attempt, args, kwargs)
        running = Running(attempt.context, args, kwargs, attempt.message.trace)

        def layer(number: int) -> Callable[[], Awaitable[Any]]:
            if number == len(middleware):
                return lambda: self._call(attempt, running.args, running.kwargs)
            return lambda: middleware[number].around_run(running, layer(number + 1))

        return await layer(0)()

    async def _call(self, attempt: Attempt, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        task = attempt.task
        if task.kind == "process":  # which resolves what it needs itself
            async with self._processes.slots:
                if task.options.timeout_s is not None:
                    self._set_timeout(attempt, task.options.timeout_s)
                return await self._processes.run(task, attempt, args, kwargs)
        if not task.resolver.injected:
            return await self._call_function(attempt, args, kwargs)
        async with task.resolver.provide(attempt.context) as provided:
            placed, named = task.place(args, kwargs, provided)
            return await self._call_function(attempt, placed, named)

    async def _call_function(self, attempt: Attempt, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        task = attempt.task
        if task.is_generator:
            await self._iterate(attempt, args, kwargs)
            return None
        if task.kind == "async":
            return await task.function(*args, **kwargs)
        return await self._in_thread(attempt, lambda: task.function(*args, **kwargs))

    async def _iterate(self, attempt: Attempt, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """A task that yields cursors. Told to stop, it ends behind a yield, and goes on from there another time."""
        if attempt.task.kind == "thread":
            attempt.has_stopped = await self._in_thread(attempt, lambda: _walk(attempt, args, kwargs))
            if not attempt.has_stopped:
                attempt.cursor = None
            return
        async with contextlib.aclosing(attempt.task.function(*args, **kwargs)) as steps:
            async for cursor in steps:
                attempt.cursor = cursor_to_json(cursor)
                if attempt.why is Why.STOPPING:
                    attempt.has_stopped = True
                    return
            attempt.cursor = None

    async def _in_thread(self, attempt: Attempt, call: Callable[[], Any]) -> Any:
        for middleware in reversed(attempt.task.app.middleware):
            call = functools.partial(middleware.around_thread, call)

        def run() -> Any:
            token = enter_context(attempt.context)
            try:
                return call()
            finally:
                leave_context(token)

        return await self._threads.run(run)

    def _failed(self, attempt: Attempt, error: BaseException) -> Ended:
        if isinstance(error, TaskFailedInProcessError):
            return Failed(error.text, is_dead=error.is_dead)
        if isinstance(error, Retry):
            return Failed(error.reason or "Retry", error.delay_s)
        if isinstance(error, Snooze):
            attempt.snoozed_s = error.delay_s
            if error.reason:  # a released job keeps no error: the page of the job says it in the log
                attempt.context.log(f"snoozed for {error.delay_s:g} s: {error.reason}")
            return Released(error.delay_s, error.reason)
        if isinstance(error, Cancel):
            return Failed(error.reason, is_dead=True)
        if isinstance(error, StoreUnavailableError) and not attempt.has_begun:
            return Released(RESULTS_AGAIN_S, "results of other nodes could not be read")
        if isinstance(error, SerializationError | ResultGoneError):
            return Failed(str(error), is_dead=True)  # no try would go better
        return Failed(describe(error), is_dead=not attempt.task.options.retry_policy.retries(error))


def _walk(attempt: Attempt, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """All steps of a synchronous task that yields cursors, in one thread, which also runs its `finally` blocks.

    Whether it ended before its last step: it was told to stop. A thread that was left behind ends at its next yield.
    """
    with contextlib.closing(attempt.task.function(*args, **kwargs)) as steps:
        for cursor in steps:
            why = attempt.why
            if why is None or why is Why.STOPPING:
                attempt.cursor = cursor_to_json(cursor)
            if why is not None:
                return True
    return False


def _with_result(result: bytes) -> Ended:
    if len(result) > BODY_MAX_BYTES:
        error = f"the result takes {len(result):,} bytes, at most {BODY_MAX_BYTES:,} are kept"
        return Failed(error, is_dead=True)
    return Done(result)


def interrupted(attempt: Attempt) -> Ended:
    """The end of an attempt that was interrupted."""
    why = attempt.why
    if why is Why.TIMEOUT:
        timeout = attempt.task.options.timeout_s
        text = f"timeout: the attempt took longer than {timeout:g} s" if timeout else "timeout"
        if attempt.extended_s is not None:
            text = f"timeout: the attempt took longer than {attempt.extended_s:g} s since it was extended"
        if attempt.task.kind == "thread":
            text += "; its thread cannot be interrupted and may still run"
        return Failed(text)
    if why is Why.CANCELLED:
        return Failed("cancelled", is_dead=True)
    if why is Why.LEASE_LOST:
        return Lost()
    if why is Why.STOPPING:
        return Released()
    return Failed("the task cancelled itself (asyncio.CancelledError)")
