"""Middleware: code around each enqueue and each run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from .context import Context


@dataclass(slots=True)
class Enqueueing:
    """A job that is about to be enqueued. A middleware may change `kwargs`, `attributes` and `trace`."""

    task: str
    queue: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    attributes: dict[str, str] = field(default_factory=dict)
    trace: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Running:
    """An attempt that is about to run."""

    context: Context
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    trace: dict[str, str]


class Middleware:
    """Base of middleware. Each of an app's is called around the next, the first outermost; override what you need."""

    def on_enqueue(self, job: Enqueueing) -> None:
        """Called before a job is enqueued, in the caller's thread or event loop. What it raises, the caller gets."""

    async def around_run(self, run: Running, call_next: Callable[[], Awaitable[Any]]) -> Any:
        """Called around each attempt, in the worker's event loop; returns what the task returns."""
        return await call_next()

    def around_thread(self, call_next: Callable[[], Any]) -> Any:
        """Called around each run of synchronous code of a task, in its thread; returns what `call_next` returns.

        A synchronous generator runs in one thread from its first step to its end. `current_context()` is that of the
        attempt.
        """
        return call_next()
