"""An attempt at a job that runs, and the ways in which it ends."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from queues.engine import Delivery

from ..context import Context
from ..message import Message
from ..task import Task


class Why(StrEnum):
    """Why an attempt is interrupted."""

    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    LEASE_LOST = "lease lost"
    STOPPING = "the worker stops"


@dataclass(slots=True)
class Done:
    """The task returned. `result`: as JSON; None: it is not kept."""

    result: bytes | None


@dataclass(slots=True)
class Failed:
    """The task failed. `delay_s` None: by the job's backoff."""

    error: str
    delay_s: float | None = None
    is_dead: bool = False


@dataclass(slots=True)
class Released:
    """The job goes back without burning a try."""

    delay_s: float = 0.0
    reason: str = ""


@dataclass(slots=True)
class Lost:
    """Another attempt holds the job: this one reports nothing."""


Ended = Done | Failed | Released | Lost


@dataclass(slots=True)
class Attempt:
    """An attempt that runs. `lease_ends`, `started`: by `time.monotonic()`."""

    delivery: Delivery
    task: Task[..., Any]
    message: Message
    context: Context
    started: float
    lease_ends: float
    renewed: float
    keeps_result: bool = False
    why: Why | None = None
    runner: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = None
    cursor: bytes | None = None
    cursor_saved: bytes | None = None
    was_cut_off: bool = False
    has_stopped: bool = False
    """Whether a task that yields cursors ended after a yield because it was told to stop."""
    has_begun: bool = False
    """Whether its arguments have been provided, so that its task has been called."""
    has_ended: bool = False
    """Whether its task has returned: only its end is still to be sent, which nothing may interrupt."""
    extended_s: float | None = None
    """How long it might take since it asked for more time last; None: it did not."""
    snoozed_s: float = 0.0
    """For how long its task put the job off: its log is kept for longer than that."""

    def interrupt(self, why: Why) -> None:
        """End it: a coroutine is cancelled, a process killed; a thread goes on and is left behind."""
        if self.why is not None or self.runner is None or self.has_ended:
            return
        self.why = why
        self.context.cancel_reason = why.value
        if self.is_resumable and why is Why.STOPPING:
            return  # it goes on to its next yield
        self.cut_off()

    def cut_off(self) -> None:
        """Cancel it, whatever it is doing."""
        if self.why is not None:
            self.context.cancel_reason = self.why.value
        self.context._is_cancelled = True  # noqa: SLF001 - the context is the attempt's own
        self.was_cut_off = True
        if self.runner is not None:
            self.runner.cancel()

    @property
    def is_resumable(self) -> bool:
        return self.task.is_generator and self.task.kind != "process"
