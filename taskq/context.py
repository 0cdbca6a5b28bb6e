"""What a running task may ask and say: who it is, how long it has, how far it is."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from .outcomes import Cancel

if TYPE_CHECKING:
    from .app import App

LOG_LINES_KEPT: Final = 200
"""Lines that wait to be sent; of more the oldest are dropped."""

LINE_MAX: Final = 1_000
NOTE_MAX: Final = 200


@dataclass(slots=True)
class Context:
    """One attempt at a job. A task gets it by an annotated parameter, anything that it calls by `current_context()`.

    `attempt` counts from 1, `tries_left` says how often it may be tried after this. `cursor`: what a task that is a
    generator yielded last before it was interrupted, or None.
    Safe to use from the thread that the task runs in.
    """

    app: App | None = None
    job_id: str = ""
    queue: str = ""
    task: str = ""
    worker_id: str = ""
    attempt: int = 1
    tries_left: int = 0
    cursor: Any = None
    state: Mapping[str, Any] = field(default_factory=dict)
    """What the app's lifespan yielded."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    taken_at: float = 0.0
    """When the worker took the job, by `time.monotonic()`."""
    deadline: float | None = None
    """When the attempt runs into its timeout, by `time.monotonic()`; None: never."""
    cancel_reason: str = ""
    """Why the attempt is to end, if `is_cancelled`: timeout, cancelled, lease lost, the worker stops."""
    percent: float | None = None
    note: str = ""
    _lines: list[str] = field(default_factory=list, repr=False)
    _cancelled: threading.Event = field(default_factory=threading.Event, repr=False)
    _extend: Callable[[float], None] | None = field(default=None, repr=False)
    _changed: bool = field(default=False, repr=False)

    @property
    def is_cancelled(self) -> bool:
        """Whether the attempt is to end: the job was cancelled, its time is up, its lease is lost, the worker stops."""
        return self._cancelled.is_set()

    @property
    def seconds_left(self) -> float | None:
        """Until the timeout; None: there is none."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def raise_if_cancelled(self) -> None:
        """For loops in threads, which nobody can interrupt. Raises Cancel."""
        if self.is_cancelled:
            raise Cancel("cancelled")

    def extend(self, seconds: float) -> None:
        """Move the timeout of this attempt to so many seconds from now. The lease is renewed by the worker anyway."""
        self.deadline = time.monotonic() + seconds
        if self._extend is not None:
            self._extend(seconds)

    def progress(self, percent: float, note: str = "") -> None:
        """Show how far the task is, on the job's page and that of the workers."""
        self.percent, self.note = min(100.0, max(0.0, float(percent))), note[:NOTE_MAX]
        self._changed = True

    def log(self, line: str) -> None:
        """Add a line to the job's page."""
        self._lines.append(str(line)[:LINE_MAX])
        if len(self._lines) > LOG_LINES_KEPT:
            del self._lines[0]
        self._changed = True

    def take_changes(self) -> tuple[dict[str, str], list[str]] | None:
        """What was said since this was asked last; for the worker. None: nothing."""
        if not self._changed:
            return None
        self._changed = False
        lines, self._lines = self._lines, []
        fields = {} if self.percent is None else {"percent": f"{self.percent:g}", "note": self.note}
        return fields, lines


_current: contextvars.ContextVar[Context | None] = contextvars.ContextVar("taskq_context", default=None)


def current_context() -> Context:
    """The context of the attempt that this code runs in. Raises RuntimeError outside of a task."""
    context = _current.get()
    if context is None:
        raise RuntimeError("no task runs here")
    return context


def enter_context(context: Context) -> contextvars.Token[Context | None]:
    """Make it the current one; for workers and tests."""
    return _current.set(context)


def leave_context(token: contextvars.Token[Context | None]) -> None:
    _current.reset(token)
