"""The heartbeat of one pool's roles: written to the pool's Redis, so that others see whether and how well they work."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from queues.engine import PumpBeat, RoleBeat

from .role import BackgroundRole

BEAT_INTERVAL_S: Final = 1.0

PUMP_ID: Final = f"{socket.gethostname()[:64]}:{os.getpid()}:{secrets.token_hex(3)}"
"""Of this process: host, process, and something that no later process with the same number has."""


@dataclass(slots=True)
class _RoleState:
    """Of one role: when its latest turn began and ended, how late it began, and sums."""

    began_at: float
    ended_at: float
    late_s: float = 0.0
    turns: int = 0
    jobs: int = 0


class Heartbeat:
    """The turns of one pool's roles. Safe to use from many threads."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._born_at = clock()
        self._next_at = self._born_at
        self._roles: dict[str, _RoleState] = {}

    def note(self, role: BackgroundRole, *, began_at: float, jobs: int) -> None:
        """A turn of a role has ended. It began late by what was more than the interval since the one before began."""
        now = self._clock()
        with self._lock:
            state = self._roles.setdefault(role.name, _RoleState(began_at=began_at, ended_at=now))
            if state.turns:
                state.late_s = max(0.0, began_at - state.began_at - role.interval_s)
            state.began_at, state.ended_at = began_at, now
            state.turns += 1
            state.jobs += jobs

    def take_beat(self) -> PumpBeat | None:
        """What to say now; None if something was said within the last BEAT_INTERVAL_S."""
        now = self._clock()
        with self._lock:
            if now < self._next_at:
                return None
            self._next_at = now + BEAT_INTERVAL_S
            return PumpBeat(
                pump=PUMP_ID,
                up_ms=_ms(now - self._born_at),
                roles={
                    name: RoleBeat(
                        tick_age_ms=_ms(now - state.ended_at),
                        late_ms=_ms(state.late_s),
                        ticks=state.turns,
                        jobs=state.jobs,
                    )
                    for name, state in self._roles.items()
                },
            )


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
