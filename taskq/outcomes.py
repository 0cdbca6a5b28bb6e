"""Exceptions by which a task says how its attempt ends; and what a job keeps of an error."""

from __future__ import annotations

import traceback
from datetime import timedelta
from math import isfinite
from typing import Any, Final, TypeAlias

ERROR_MAX: Final = 1_000


def describe(error: BaseException) -> str:
    """Type and message, then where it was raised: the innermost frames that fit into what a job keeps of an error."""
    head = "".join(traceback.format_exception_only(error)).strip()[: ERROR_MAX // 2]
    frames = [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]
    text = head
    for frame in reversed(frames):
        if len(text) + len(frame) + 4 > ERROR_MAX:
            break
        text += f"\n  {frame}"
    return text


Delay: TypeAlias = float | timedelta
"""Seconds, or a timedelta."""


def seconds(delay: Delay) -> float:
    """A delay in seconds. Raises ValueError for one that is no number or has no end."""
    found = delay.total_seconds() if isinstance(delay, timedelta) else float(delay)
    if not isfinite(found):
        raise ValueError(f"a delay must be a finite number of seconds, not {found}")
    return found


class Outcome(Exception):  # noqa: N818
    """Base of what a task raises to end its attempt in a way of its own."""


class TaskFailedInProcessError(Exception):
    """An exception of a task in a process of its own, as text: not every exception can be sent to another process."""

    def __init__(self, text: str, is_dead: bool) -> None:
        super().__init__(text.partition("\n")[0])
        self.text = text
        self.is_dead = is_dead

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.text, self.is_dead)


class Retry(Outcome):
    """Try again after `delay` (None: the backoff of the task). Burns a try, as a failure does."""

    def __init__(self, delay: Delay | None = None, reason: str = "") -> None:
        super().__init__(reason or "retry")
        self.delay_s = None if delay is None else seconds(delay)
        self.reason = str(reason)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.delay_s, self.reason)


class Snooze(Outcome):
    """Run again after `delay`. Burns no try and counts as no failure: the job was only too early."""

    def __init__(self, delay: Delay, reason: str = "") -> None:
        super().__init__(reason or "snooze")
        self.delay_s = seconds(delay)
        self.reason = str(reason)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.delay_s, self.reason)


class Cancel(Outcome):
    """End the job as a dead letter at once, whatever tries are left, for this reason."""

    def __init__(self, reason: str = "cancelled") -> None:
        super().__init__(reason)
        self.reason = str(reason)


class SkipRetry(Cancel):
    """`Cancel` under the name that it has in Asynq."""
