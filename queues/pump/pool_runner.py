"""One pool's background work: its engine, its roles, its troubles; and the heartbeat of its roles.

The heartbeat is written to the pool's Redis, so that others see whether and how well the roles work.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.db import close_old_connections

from queues.engine import Counts, Engine, PumpBeat, RoleBeat, StoreUnavailableError, beat
from queues.lake.storage import LakeError
from queues.pools import MetadataUnavailableError, PoolNotFoundError, engine_for

from .role import BackgroundRole, CircuitBreaker, RoleHinderedError, RoleStats, run_role
from .roles import roles_for

BEAT_INTERVAL_S: Final = 1.0

PUMP_ID: Final = f"{socket.gethostname()[:64]}:{os.getpid()}:{secrets.token_hex(3)}"
"""Of this process: host, process, and something that no later process with the same number has."""

KEPT_S: Final = 1.0
"""How long roles go on with an engine before they ask for the pool's again. What is answered then is a second old at
most, so a changed pool is followed within two."""


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


class PoolRunner:
    """Runs the roles of one pool. Each role may be run by a thread of its own."""

    def __init__(
        self,
        pool: str,
        *,
        stats: RoleStats,
        should_stop: Callable[[], bool],
        open_engine: Callable[[str], Engine] = engine_for,
        once: bool = False,
    ) -> None:
        self.pool = pool
        self.roles = roles_for(pool, once=once)
        self._stats = stats
        self._is_stopping = should_stop
        self._closed = threading.Event()
        self._open_engine = open_engine
        self._opened: tuple[float, Engine] | None = None
        self._heartbeat = Heartbeat()
        self._pool_breaker = CircuitBreaker(pool=pool)
        self._role_breakers = {role.name: CircuitBreaker(pool=pool, role=role.name) for role in self.roles}

    def work(self, role: BackgroundRole) -> None:
        """Turns of a role, each at a multiple of its interval from now, until the runner is closed. One that takes
        longer than that has the next multiple left out."""
        began = time.monotonic()
        while not self._should_stop():
            self._closed.wait(role.interval_s - (time.monotonic() - began) % role.interval_s)
            self.run(role)

    def close(self) -> None:
        """Let the turns that are under way finish, and begin no more. May be called more than once."""
        self._closed.set()

    def _should_stop(self) -> bool:
        return self._closed.is_set() or self._is_stopping()

    def run(self, role: BackgroundRole) -> None:
        """One turn of a role. Never raises: a fault is logged once, and tried again with pauses until it is over."""
        role_breaker = self._role_breakers[role.name]
        if self._should_stop() or not (self._pool_breaker.may_try() and role_breaker.may_try()):
            return
        began_at = self._pool_breaker.now()
        try:
            self.turn(role)
            self._beat()
        except (StoreUnavailableError, MetadataUnavailableError, PoolNotFoundError) as error:
            self._pool_breaker.record_failure(error, began_at=began_at)
        except (LakeError, RoleHinderedError) as error:  # the pool is well, and its other roles go on
            self._pool_breaker.record_success(began_at=began_at)
            role_breaker.record_failure(error, began_at=began_at)
        except Exception as error:  # a defect in one role must not end the others
            role_breaker.record_failure(error, began_at=began_at, unexpected=True)
        else:
            self._pool_breaker.record_success(began_at=began_at)
            role_breaker.record_success(began_at=began_at)

    def turn(self, role: BackgroundRole) -> Counts:
        """One turn of a role, counted. Raises what goes wrong."""
        started = time.monotonic()
        try:
            counts = run_role(role, self._engine(), should_stop=self._should_stop)
        except Exception:
            self._opened = None  # the pool may have been moved, or deleted
            raise
        finally:
            close_old_connections()  # as Django does after a request: a thread would keep a dead connection for ever
        self._stats.add(self.pool, role.name, counts, duration_ms=(time.monotonic() - started) * 1000)
        self._heartbeat.note(role, began_at=started, jobs=counts.jobs)
        return counts

    def _beat(self) -> None:
        heartbeat = self._heartbeat.take_beat()
        if heartbeat is not None:
            self._engine().run(beat(heartbeat))

    def _engine(self) -> Engine:
        now, opened = time.monotonic(), self._opened
        if opened is None or now - opened[0] >= KEPT_S:
            opened = self._opened = (now, self._open_engine(self.pool))
        return opened[1]
