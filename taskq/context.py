"""The context of a running task: its job, its deadline, its progress."""

from __future__ import annotations

import contextvars
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from queues.engine import NOTE_FIELD_MAX_BYTES

from .errors import SerializationError
from .job import AppProtocol
from .outcomes import Cancel
from .serializers import to_json
from .workflow_handle import aread_results, read_results

LOG_LINES_KEPT: Final = 200
"""Lines that may wait to be sent. If there are more, the oldest are dropped."""

LINE_MAX: Final = 1_000
NOTE_MAX: Final = 200
CURSOR_MAX_BYTES: Final = NOTE_FIELD_MAX_BYTES


@dataclass(slots=True)
class Context:
    """One attempt at a job. A task gets it by an annotated parameter, anything that it calls by `current_context()`.

    `attempt` counts from 1, `tries_left` says how often it may be tried after this. `cursor`: what a task that is a
    generator yielded last before it was interrupted, or None.
    Safe to use from the thread that the task runs in.
    """

    app: AppProtocol | None = None
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
    workflow_id: str = ""
    node: str = ""
    """The workflow that the job belongs to, and its name there; "": none."""
    taken_at: float = 0.0
    """When the worker took the job, by `time.monotonic()`."""
    deadline: float | None = None
    """When the attempt runs into its timeout, by `time.monotonic()`; None: never."""
    cancel_reason: str = ""
    """Why the attempt is to end, if `is_cancelled`: timeout, cancelled, lease lost, the worker stops."""
    percent: float | None = None
    note: str = ""
    _lines: deque[str] = field(default_factory=lambda: deque(maxlen=LOG_LINES_KEPT), repr=False)
    """Lines that the task added and that were not taken yet."""
    _unsent: Sequence[str] = field(default=(), repr=False)
    """Lines that were taken and could not be sent. Only the worker's event loop uses it."""
    _is_cancelled: bool = field(default=False, repr=False)
    _extend: Callable[[float], None] | None = field(default=None, repr=False)
    _changed: bool = field(default=False, repr=False)

    @property
    def is_cancelled(self) -> bool:
        """Whether the attempt is to end: the job was cancelled, its time is up, its lease is lost, the worker stops."""
        return self._is_cancelled

    def results(self) -> dict[str, Any]:
        """What the nodes returned that this one depends on, by their names, as JSON has it. Waits for Redis: in an
        event loop use `aresults`. Raises ResultGoneError."""
        return read_results(self._app_of_workflow(), self.workflow_id, self.node)

    async def aresults(self) -> dict[str, Any]:
        """The same for asyncio."""
        return await aread_results(self._app_of_workflow(), self.workflow_id, self.node)

    def _app_of_workflow(self) -> AppProtocol:
        if self.app is None or not self.workflow_id:
            raise RuntimeError("the job belongs to no workflow")
        return self.app

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the timeout; None: there is none."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def raise_if_cancelled(self) -> None:
        """For loops in threads, which cannot be interrupted from outside. Raises Cancel."""
        if self.is_cancelled:
            raise Cancel("cancelled")

    def extend(self, seconds: float) -> None:
        """Move the timeout of this attempt to so many seconds from now. The lease is renewed by the worker anyway."""
        self.deadline = time.monotonic() + seconds
        if self._extend is not None:
            self._extend(seconds)

    def progress(self, percent: float, note: str = "") -> None:
        """Show how far the task is, on the job's page and that of the workers."""
        self.percent, self.note = min(100.0, max(0.0, float(percent))), _sendable(str(note)[:NOTE_MAX])
        self._changed = True

    def log(self, line: str) -> None:
        """Add a line to the job's page."""
        self._lines.append(line_of_log(line))
        self._changed = True

    def take_changes(self) -> tuple[dict[str, str], list[str]] | None:
        """What was said since this was asked last; for the worker. None: nothing.

        The task's thread may go on to speak meanwhile. Without a lock, for each step is atomic: what is said after
        the flag is reset sets it again, so it is taken now or the next time.
        """
        if not self._changed:
            return None
        self._changed = False
        lines = list(self._unsent)
        self._unsent = ()
        for _ in range(LOG_LINES_KEPT):  # bounded, should the thread add lines as fast as they are taken
            try:
                lines.append(self._lines.popleft())
            except IndexError:
                break
        fields = {} if self.percent is None else {"percent": f"{self.percent:g}", "note": self.note}
        return fields, lines[-LOG_LINES_KEPT:]

    def put_back(self, lines: Sequence[str]) -> None:
        """Lines that were taken but could not be sent: they are taken again, before later ones. For the worker."""
        self._unsent = [*lines, *self._unsent][-LOG_LINES_KEPT:]
        self._changed = True


def line_of_log(line: str) -> str:
    """A line of the log as it is stored."""
    return _sendable(str(line)[:LINE_MAX])


def _sendable(text: str) -> str:
    """Replaces lone surrogates, which file names may have: UTF-8 cannot encode them."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def cursor_to_json(cursor: Any) -> bytes:
    """The stored form of a cursor, which a generator yielded. Raises SerializationError."""
    kept = to_json(cursor)
    if len(kept) > CURSOR_MAX_BYTES:
        raise SerializationError(f"the cursor takes {len(kept):,} bytes, at most {CURSOR_MAX_BYTES:,} are kept")
    return kept


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
