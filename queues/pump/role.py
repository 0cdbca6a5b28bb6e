"""A background role, one run of it, and sums of what the roles did; and the circuit breaker of what fails.

A run ticks while there is more to do and time to do it, or while it is woken. A circuit breaker remembers whether
something works, so that a fault is logged once and tried again ever more slowly.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from django.db import close_old_connections

from queues.engine import Counts, Engine

logger = logging.getLogger(__name__)


Tick: TypeAlias = Callable[[Engine, int | None], Counts]
"""One bounded piece of work on one pool. Second argument: the time in ms for tests; None: the Redis server's clock."""

Wait: TypeAlias = Callable[[Engine, float], bool]
"""Waits for at most so many seconds for a reason to tick before the interval is over; whether there is one."""

WAIT_PART: Final = 0.8
"""Of its interval a role may wait: when a turn ends after the next one is due, that one is left out."""

RETRY_FIRST_S: Final = 0.25
RETRY_MAX_S: Final = 5.0


class RoleHinderedError(Exception):
    """A role cannot work although the pool is well: the pool's other roles go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundRole:
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


def run_role(
    role: BackgroundRole,
    engine: Engine,
    *,
    should_stop: Callable[[], bool],
    now_ms: int | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Counts:
    """Tick once, and again as long as the tick says `more`, the role's budget lasts and `should_stop` is false.

    A role that can wait does so when there is no more, and ticks again if it is woken before its interval is over.
    The sum of the ticks; its `more` is that of the last one. Raises what the engine raises.
    """
    began = clock()
    turn_began, ends = began, began + role.budget_s
    total = counts = role.tick(engine, now_ms)
    while clock() < ends and not should_stop():
        if not counts.more:
            left_s = role.interval_s * WAIT_PART - (clock() - turn_began) % role.interval_s
            if role.wait is None or left_s <= 0 or not role.wait(engine, left_s):
                break
        elif role.share < 1:
            sleep((clock() - began) * (1 / role.share - 1))
        began = clock()
        counts = role.tick(engine, now_ms)
        total = total + counts
    return Counts(queues=total.queues, jobs=total.jobs, dead=total.dead, more=counts.more)


NOTHING = Counts()


class RoleStats:
    """Sums counts by pool and role. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: dict[tuple[str, str], Counts] = {}

    def add(self, pool: str, role: str, counts: Counts, *, duration_ms: float) -> None:
        """Note what one turn of a role did."""
        if not counts.jobs:
            return
        logger.debug(
            "tick", extra=_fields(pool, role, counts) | {"action": "tick", "duration_ms": round(duration_ms, 1)}
        )
        with self._lock:
            self._sums[pool, role] = self._sums.get((pool, role), NOTHING) + counts

    def report(self) -> None:
        """Log the sums since the last report, one line for each role that did anything, and start again from zero."""
        with self._lock:
            sums, self._sums = self._sums, {}
        for (pool, role), counts in sorted(sums.items()):
            logger.info("role did its work", extra=_fields(pool, role, counts) | {"action": "role_summary"})


def _fields(pool: str, role: str, counts: Counts) -> dict[str, str | int]:
    return {"pool": pool, "role": role, "queues": counts.queues, "jobs": counts.jobs, "dead": counts.dead}


class CircuitBreaker:
    """Whether calls are tried: of a pool, or of a role on a pool. Safe to use from many threads."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, **fields: str) -> None:
        self._clock = clock
        self._fields = fields
        self._lock = threading.Lock()
        self._since: float | None = None
        self._over_at = -math.inf
        self._pause_s = 0.0
        self._again_at = 0.0

    @property
    def is_open(self) -> bool:
        return self._since is not None

    def may_try(self) -> bool:
        """Whether to try now. While the breaker is open, one caller per pause may."""
        with self._lock:
            if self._since is None:
                return True
            if self._clock() < self._again_at:
                return False
            self._again_at = self._clock() + self._pause_s
            return True

    def run(self, work: Callable[[], object]) -> None:
        """Do the work of a chore, if it may be tried now. Never raises: a failure is noted, and it is tried again."""
        if not self.may_try():
            return
        try:
            work()
        except Exception as error:  # whatever it was, the roles go on
            self.record_failure(error)
        else:
            self.record_success()
        finally:
            close_old_connections()

    def now(self) -> float:
        """The time by this object's clock, for `began_at`, in seconds."""
        return self._clock()

    def record_failure(self, error: Exception, *, began_at: float = math.inf, unexpected: bool = False) -> None:
        """Note a failure; log it if it is the first. `unexpected`: a defect, so log where it happened.

        What began before the breaker closed says nothing about the time after it.
        """
        with self._lock:
            if began_at < self._over_at:
                return
            first = self._since is None
            if self._since is None:
                self._since = self._clock()
                self._pause_s = RETRY_FIRST_S
            else:
                self._pause_s = min(RETRY_MAX_S, self._pause_s * 2)
            self._again_at = self._clock() + self._pause_s
        if first:
            logger.log(
                logging.ERROR if unexpected else logging.WARNING,
                "background work fails; it is tried again until it works",
                extra=self._fields | {"action": "trouble", "error": str(error), "error_type": type(error).__name__},
                exc_info=error if unexpected else None,
            )

    def record_success(self, *, began_at: float = math.inf) -> None:
        """Note a success; log it if the breaker was open.

        What began before the breaker opened does not close it: its reply may have come before the server died.
        """
        if self._since is None:
            return
        with self._lock:
            since = self._since
            if since is None or began_at < since:
                return
            self._since, self._over_at = None, self._clock()
        lasted_s = round(self._over_at - since, 1)
        logger.info("background work goes on", extra=self._fields | {"action": "recovered", "lasted_s": lasted_s})
