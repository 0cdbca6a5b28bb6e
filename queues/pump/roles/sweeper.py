"""Sweeper: expired job records and idempotency keys → gone, by a cursor that goes round and round over all queues."""

from __future__ import annotations

from queues.engine import Counts, Engine, sweep


def tick(engine: Engine, now_ms: int | None) -> Counts:
    """Look at the next stretch of records in each partition."""
    return engine.run(sweep(engine.layout, now_ms=now_ms))
