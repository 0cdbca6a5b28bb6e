"""Groups: members whose delay is over join, and groups whose time has come are flushed."""

from __future__ import annotations

from queues.engine import Counts, Engine, flush_due


def tick(engine: Engine, now_ms: int | None) -> Counts:
    """A bounded step in every queue whose groups have work."""
    return engine.run(flush_due(engine.layout, now_ms=now_ms))
