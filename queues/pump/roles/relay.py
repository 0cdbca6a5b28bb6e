"""Relay: tells other partitions what concerns them, where the caller that caused it did not."""

from __future__ import annotations

from queues.engine import Counts, Engine, relay


def tick(engine: Engine, now_ms: int | None) -> Counts:
    """Carry what is outgoing in each partition, a bounded part of it. Nothing is, but where jobs depend on others."""
    return engine.run(relay(engine.layout, now_ms=now_ms))
