"""Reclaimer: jobs whose lease ran out → ready, retry or dead; completed jobs whose retention ended → gone."""

from __future__ import annotations

from queues.engine import Counts, Engine, reclaim_ended


def tick(engine: Engine, now_ms: int | None) -> Counts:
    """Take back what has ended, up to the engine's batch per queue."""
    return engine.run(reclaim_ended(engine.layout, now_ms=now_ms))
