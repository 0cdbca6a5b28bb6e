"""Surveys a pool at once, as a pump does in its rounds."""

from __future__ import annotations

from queues.engine import Engine, PumpBeat, RoleBeat, beat
from queues.pools.ttl_cache import forget_recent
from queues.pump.roles.survey import ROUND_MIN_S, Survey

PUMP_ROLE = RoleBeat(tick_age_ms=10, late_ms=4, ticks=7, jobs=5)


class Surveyor:
    """A pump process that only surveys. What this process remembers of earlier surveys is forgotten."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._seconds = 0.0
        self._survey = Survey(clock=lambda: self._seconds)

    def look(self, *, now_ms: int | None = None) -> None:
        """A whole round, and a sign of life."""
        self._seconds += ROUND_MIN_S
        while self._survey.tick(self.engine, now_ms).more:
            pass
        self.engine.run(beat(PumpBeat(pump="host:41:a", up_ms=9_000, roles={"pump": PUMP_ROLE}), now_ms=now_ms))
        forget_recent()


def now_of(engine: Engine) -> int:
    """By the clock of Redis, ms."""
    seconds, micros = engine.client.time()
    return int(seconds) * 1_000 + int(micros) // 1_000
