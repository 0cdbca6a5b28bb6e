"""Sweeper: expired jobs and idempotency keys → gone, tombstones → out of the ready lists."""

from __future__ import annotations

from queues.engine import Counts, Engine, sweep


def tick(engine: Engine, now_ms: int | None) -> Counts:
    """A bounded step in a few queues of each partition: those where something has expired."""
    return engine.run(sweep(engine.layout, now_ms=now_ms))
