"""Relay: tells other partitions what concerns them, where the caller that caused it did not; attends to workflows."""

from __future__ import annotations

from queues.engine import Counts, Engine, attend_workflows, relay


def tick(engine: Engine, now_ms: int | None) -> Counts:
    """Carry what is outgoing in each partition, a bounded part of it. Nothing is, but where jobs depend on others.

    Then attend to workflows that have something to do.
    """
    carried = engine.run(relay(engine.layout, now_ms=now_ms))
    attended = engine.run(attend_workflows(engine.layout, now_ms=now_ms))
    return Counts(jobs=carried.jobs, more=carried.more or attended.more)
