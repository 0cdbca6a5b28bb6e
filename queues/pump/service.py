"""All pools' background work in one process, until told to stop."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from django.db import close_old_connections

from queues.engine import Counts

from .dead_letters import DeadLetterChores
from .deletions import DeletionChore
from .incidents import IncidentChores
from .lake_upkeep import INTERVAL_S as LAKE_INTERVAL_S
from .lake_upkeep import LakeUpkeep
from .nightly import NightlyReports
from .pool_runner import PoolRunner
from .role import CircuitBreaker, RoleStats
from .role_scheduler import RoleScheduler

logger = logging.getLogger(__name__)

POOLS_INTERVAL_S: Final = 2.0
"""How soon a pool that was added or deleted is noticed."""

SUMMARY_INTERVAL_S: Final = 60.0
CHECK_INTERVAL_S: Final = 600.0
"""How often the log warns of a Redis that may lose jobs, for as long as it may."""
HEARTBEAT_INTERVAL_S: Final = 1.0
DELETIONS_INTERVAL_S: Final = 1.0
INCIDENTS_INTERVAL_S: Final = 5.0
ALERTS_INTERVAL_S: Final = 2.0
RESPAWN_INTERVAL_S: Final = 1.0
MUTED_INTERVAL_S: Final = 10.0
NIGHTLY_INTERVAL_S: Final = 60.0
"""How soon it is noticed that a day is over, or that its report did not work out."""
CLOCK_SET_S: Final = 1.0
"""A wall clock that moves by this much against the monotonic one within a second was set by somebody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReport:
    """What `run_once` did: one role on one pool. `error`: what went wrong, instead of counts."""

    pool: str
    role: str
    counts: Counts
    error: Exception | None


class BackgroundService:
    """`run` blocks until `ask_to_stop`; `run_once` takes one turn of each role on each pool.

    `list_pools` is asked again and again, so that pools come and go while it runs. Each of `heartbeats` is called every
    second, to tell others that this process works (how each role does, the pool's Redis is told).
    `check_pools` is called at the start and then every CHECK_INTERVAL_S, to log what is wrong with a pool's Redis.
    `nightly` makes the reports that are due; `incidents` looks for what is wrong, and sends alerts; `deletions` deletes
    what people asked for and did not undo; `lake` deletes old days from the event lake; `dead_letters` respawns at a
    rate, and counts muted ones.
    """

    def __init__(
        self,
        list_pools: Callable[[], list[str]],
        *,
        check_pools: Callable[[], object] | None = None,
        heartbeats: Sequence[Callable[[], object]] = (),
        nightly: NightlyReports | None = None,
        incidents: IncidentChores | None = None,
        deletions: DeletionChore | None = None,
        lake: LakeUpkeep | None = None,
        dead_letters: DeadLetterChores | None = None,
    ) -> None:
        self._list_pools = list_pools
        self._check_pools = check_pools
        self._heartbeats = heartbeats
        self._nightly = nightly
        self._incidents = incidents
        self._deletions = deletions
        self._lake = lake
        self._dead_letters = dead_letters
        self._stopping = threading.Event()
        self._stats = RoleStats()
        self._runners: dict[str, PoolRunner] = {}
        self._pools_breaker = CircuitBreaker(subject="list of pools")

    def ask_to_stop(self) -> None:
        """Make `run` finish the ticks under way and return. May be called from a signal handler."""
        self._stopping.set()

    def run(self) -> None:
        """Run every role of every pool at its interval."""
        scheduler = RoleScheduler()
        self._follow_pools(scheduler)
        scheduler.start()
        try:
            self._add_chores(scheduler)
            logger.info("background roles run", extra={"action": "pump_started", "pools": ",".join(self._runners)})
            self._wait(scheduler)
        finally:  # whatever it was: without their chores, roles would go on unseen
            self._stop(scheduler)

    def _add_chores(self, scheduler: RoleScheduler) -> None:
        scheduler.add_chore("pools", lambda: self._follow_pools(scheduler), interval_s=POOLS_INTERVAL_S)
        scheduler.add_chore("summary", self._stats.report, interval_s=SUMMARY_INTERVAL_S)
        if self._check_pools is not None:
            scheduler.add_chore("check", self._check_pools, interval_s=CHECK_INTERVAL_S, at_once=True)
        for number, beat in enumerate(self._heartbeats):
            scheduler.add_chore(f"heartbeat {number}", beat, interval_s=HEARTBEAT_INTERVAL_S, at_once=True)
        if self._incidents is not None:
            scheduler.add_chore("incidents", self._incidents.look, interval_s=INCIDENTS_INTERVAL_S)
            scheduler.add_chore("alerts", self._incidents.send, interval_s=ALERTS_INTERVAL_S)
        if self._deletions is not None:
            scheduler.add_chore("deletions", self._deletions.tick, interval_s=DELETIONS_INTERVAL_S)
        if self._dead_letters is not None:
            scheduler.add_chore("respawns", self._dead_letters.respawn, interval_s=RESPAWN_INTERVAL_S)
            scheduler.add_chore("muted", self._dead_letters.count, interval_s=MUTED_INTERVAL_S)
        if self._nightly is not None:
            scheduler.add_chore("nightly", self._nightly.tick, interval_s=NIGHTLY_INTERVAL_S, at_once=True)
        if self._lake is not None:
            scheduler.add_chore("lake", self._lake.tick, interval_s=LAKE_INTERVAL_S, at_once=True)

    def _stop(self, scheduler: RoleScheduler) -> None:
        logger.info("background roles finish their turns", extra={"action": "pump_stopping"})
        self._stopping.set()
        if self._nightly is not None:
            self._nightly.stop()
        if self._lake is not None:
            self._lake.stop()
        scheduler.stop_chores()
        for runner in self._runners.values():
            runner.close()
        scheduler.stop()
        self._stats.report()
        logger.info("background roles stopped", extra={"action": "pump_stopped"})

    def run_once(self) -> Iterator[TurnReport]:
        """One turn of each role on each pool, and what it did. A pool that fails does not keep the others waiting."""
        for pool in self._list_pools():
            runner = self._make_runner(pool, once=True)
            for role in runner.roles:
                counts, fault = Counts(), None
                try:
                    counts = runner.turn(role)
                except Exception as error:  # reported to the caller, who goes on with the next
                    fault = error
                yield TurnReport(pool=pool, role=role.name, counts=counts, error=fault)

    def _make_runner(self, pool: str, *, once: bool = False) -> PoolRunner:
        return PoolRunner(pool, stats=self._stats, should_stop=self._stopping.is_set, once=once)

    def _wait(self, scheduler: RoleScheduler) -> None:
        offset = time.time() - time.monotonic()
        while not self._stopping.wait(1.0):
            moved = time.time() - time.monotonic() - offset
            if abs(moved) > CLOCK_SET_S:
                offset += moved
                logger.warning("clock was set", extra={"action": "clock_set", "moved_s": round(moved, 1)})
                scheduler.catch_up()

    def _follow_pools(self, scheduler: RoleScheduler) -> None:
        """Start a runner for each pool that is new, close those of pools that are gone."""
        try:
            pools = set(self._list_pools())
        except Exception as error:  # the pools known so far go on while the database is away
            self._pools_breaker.record_failure(error)
            return
        finally:
            close_old_connections()
        self._pools_breaker.record_success()
        for pool in sorted(pools - self._runners.keys()):
            runner = self._make_runner(pool)
            scheduler.add_runner(runner)
            self._runners[pool] = runner
        for pool in sorted(self._runners.keys() - pools):
            scheduler.remove_runner(self._runners.pop(pool))
