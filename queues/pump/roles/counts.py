"""Counts: notes in the lake what Redis itself counts: hourly the jobs of each queue, daily the events of the pool.

Reports anchor backlogs to the former and are held against the latter. It is a role of its own, so that a lake that
refuses one of both does not hold up events, and many queues do not either.
"""

from __future__ import annotations

from typing import Final

from queues.engine import Counts, Engine, server_time

from .appended_days import AppendedDays
from .hourly_counts import HourlyCounts

INTERVAL_S: Final = 5.0
BUDGET_S: Final = 4.0
SHARE: Final = 0.5
"""Of this thread's time that may go into counting while a walk goes on."""


class CountsRole:
    """Of one pool."""

    def __init__(self, pool: str, *, url: str) -> None:
        self._hourly = HourlyCounts(pool, url=url)
        self._appended = AppendedDays(pool, url=url)

    def tick(self, engine: Engine, now_ms: int | None) -> Counts:
        """Count a page of queues, and note days that are over. `more`: the walk goes on. Raises LakeError."""
        now = engine.run(server_time(now_ms=now_ms))
        self._appended.note(engine, now, clock_ms=now_ms)
        return Counts(more=self._hourly.go_on(engine, now, clock_ms=now_ms))
