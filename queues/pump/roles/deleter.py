"""Deleter: frees what deleted queues held, in small steps with pauses (`queues.engine.transport.pacing`)."""

from __future__ import annotations

from queues.engine import Counts, Engine, free_deleted


def tick(engine: Engine, _now_ms: int | None) -> Counts:
    """Free the next part of each deleted queue."""
    return engine.run(free_deleted(engine.layout))
