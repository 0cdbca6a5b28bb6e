"""What a background role is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from queues.engine import Counts, Engine

Tick: TypeAlias = Callable[[Engine, int | None], Counts]
"""One bounded piece of work on one pool. Second argument: the time in ms for tests; None: the Redis server's clock."""

Wait: TypeAlias = Callable[[Engine, float], bool]
"""Waits for at most so many seconds for a reason to tick before the interval is over; whether there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A tick and its rhythm. `budget_s`: while a tick says that there is more, it goes again for this long.

    `share`: of that time the ticks take so much, the rest is left to others; 1: it goes again at once.
    `wait`: what a turn that finds nothing to do, or no more, does until the next one begins.
    """

    name: str
    interval_s: float
    budget_s: float
    tick: Tick
    share: float = 1.0
    wait: Wait | None = None
