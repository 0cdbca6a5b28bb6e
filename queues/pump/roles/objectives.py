"""Counts every five minutes how many deliveries came within their queues' objectives."""

from __future__ import annotations

from queues.engine import Counts, Engine, server_time
from queues.services.objectives.burn_rates import CELL_S
from queues.services.objectives.recording import record_deliveries


class ObjectiveCounts:
    """Of one pool. Several pumps may count: they find the same."""

    def __init__(self, pool: str) -> None:
        self._pool = pool
        self._counted_until_s = 0

    def tick(self, engine: Engine, now_ms: int | None) -> Counts:
        """Count the five minutes that ended last, unless that was done."""
        now_s = engine.run(server_time(now_ms=now_ms)) // 1_000
        end_s = now_s - now_s % CELL_S
        if end_s == self._counted_until_s:
            return Counts()
        queues = record_deliveries(pool=self._pool, engine=engine, end_s=end_s, now_ms=now_ms)
        self._counted_until_s = end_s
        return Counts(queues=queues)
