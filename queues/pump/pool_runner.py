"""One pool's background work: its engine, its roles, its troubles."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from django.db import close_old_connections

from queues.engine import Counts, Engine, StoreUnavailableError, beat
from queues.lake.storage import LakeError
from queues.pools import MetadataUnavailableError, PoolNotFoundError, engine_for

from .circuit_breaker import CircuitBreaker
from .heartbeat import Heartbeat
from .role import BackgroundRole, RoleHinderedError, RoleStats, run_role
from .roles import roles_for

KEPT_S: Final = 1.0
"""How long roles go on with an engine before they ask for the pool's again. What is answered then is a second old at
most, so a changed pool is followed within two."""


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
