"""Schedules that are declared with tasks: when a task is run by the clock. `schedule_sync` tells the service."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from .errors import NotConfiguredError
from .outcomes import Delay


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When a task is run by the clock, and with which arguments. One of `cron`, `every` and `at`.

    `cron`: 5 fields, 6 with seconds first, or @daily and the like, by the clocks of `zone`. `every`: in seconds or as
    timedelta, counted from the first sync. `name`: by default the task's name; needed from the second schedule of a
    task on. `catch_up`: which of the fires that were missed are made up for ("none", "last", "all": of these
    `catch_up_max`). `jitter`: each fire is later by up to so much. `overlap`: what to do while the job before is still
    there ("allow", "skip", "replace").
    """

    cron: str | None = None
    every: Delay | None = None
    at: datetime | None = None
    zone: str = "UTC"
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None
    catch_up: Literal["none", "last", "all"] = "last"
    catch_up_max: int = 100
    jitter: Delay = 0
    overlap: Literal["allow", "skip", "replace"] = "allow"

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.cron, self.every, self.at)) != 1:
            raise NotConfiguredError("a schedule has one of cron=, every= and at=")
        if self.at is not None and self.at.tzinfo is None:
            raise NotConfiguredError("at= needs a time with a zone, as datetime.now(UTC) has")


def declared(
    *,
    schedules: Iterable[Schedule] = (),
    cron: str | None = None,
    every: Delay | None = None,
    zone: str | None = None,
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
) -> tuple[Schedule, ...]:
    """The schedules that the arguments of `@app.task` mean. Raises NotConfiguredError."""
    if cron is None and every is None:
        if zone is not None or args is not None or kwargs is not None:
            raise NotConfiguredError("zone=, args= and kwargs= need cron= or every=")
        return tuple(schedules)
    own = Schedule(cron=cron, every=every, zone=zone or "UTC", args=tuple(args or ()), kwargs=dict(kwargs or {}))
    return (own, *schedules)
