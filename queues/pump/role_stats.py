"""What the roles did: each tick at DEBUG, a sum per minute at INFO."""

from __future__ import annotations

import logging
import threading

from queues.engine import Counts

logger = logging.getLogger(__name__)

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
