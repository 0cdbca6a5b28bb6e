"""How busy the engines of this process are: who waits, and how many calls share a round trip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from queues.engine import AsyncEngine

from .jobs_run import engines_handed_out


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLoad:
    """`waiting`: consumers, now. Since the process began: `batches` pipelines were sent, with `operations` in them."""

    waiting: int
    batches: int
    operations: int


_seen: Final[WeakKeyDictionary[AsyncEngine, tuple[int, int]]] = WeakKeyDictionary()
_totals: Final = [0, 0]


def read_engine_load() -> EngineLoad:
    """Sums over all engines. Engines come and go with their pools; what they did stays counted."""
    waiting = 0
    for engine in engines_handed_out():
        waiting += engine.waiting
        now = (int(getattr(engine, "batches", 0)), int(getattr(engine, "batched_calls", 0)))
        before = _seen.get(engine, (0, 0))
        _totals[0] += now[0] - before[0]
        _totals[1] += now[1] - before[1]
        _seen[engine] = now
    return EngineLoad(waiting=waiting, batches=_totals[0], operations=_totals[1])
