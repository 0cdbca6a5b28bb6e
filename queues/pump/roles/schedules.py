"""Schedules: fires the jobs of schedules that are due (`queues.services.schedules.firing`).

It asks the database once a second, and in between when the next fire is due that it knows of. A schedule that is made
or changed is therefore noticed within a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from queues.engine import Counts, Engine, StoreFullError
from queues.services.errors import MetadataUnavailableError
from queues.services.schedules.firing import fire_due

from ..role import RoleHinderedError

LOOK_EVERY_S: Final = 1.0


class Schedules:
    """The schedules of one pool."""

    def __init__(
        self,
        pool: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._pool = pool
        self._clock = clock
        self._sleep = sleep
        self._look_at = 0.0

    def tick(self, engine: Engine, now_ms: int | None) -> Counts:
        """Fire a batch of what is due. `more`: there is more. Raises RoleHinderedError if the database is away, or
        Redis is full.
        """
        if now_ms is None and self._clock() < self._look_at:
            return Counts()
        self._look_at = self._clock() + LOOK_EVERY_S
        try:
            done = fire_due(pool=self._pool, engine=engine, now_ms=now_ms)
        except (MetadataUnavailableError, StoreFullError) as error:  # consumers go on while Redis is full
            raise RoleHinderedError(str(error)) from error
        if done.next_ms is not None:
            self._look_at = min(self._look_at, self._clock() + (done.next_ms - done.now_ms) / 1000)
        return Counts(queues=done.decided, jobs=done.fired, more=done.more)

    def wait(self, _engine: Engine, left_s: float) -> bool:
        """Sleep until the next fire, if that is within `left_s`."""
        wait_s = self._look_at - self._clock()
        if wait_s >= left_s:
            return False
        self._sleep(max(0.0, wait_s))
        return True
