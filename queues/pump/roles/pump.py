"""Pump: delayed and failed jobs that have become due → ready."""

from __future__ import annotations

from queues.engine import Counts, Engine, promote_due


def tick(engine: Engine, now_ms: int | None) -> Counts:
    """Move what is due, up to the engine's batch per queue."""
    return engine.run(promote_due(engine.layout, now_ms=now_ms))
