"""manage.py runpump: the background roles (`queues.pump.roles`) of all pools, incidents and alerts, nightly reports."""

from __future__ import annotations

import os
import signal
from argparse import ArgumentParser
from pathlib import Path
from types import FrameType
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError
from django.db import close_old_connections

from queues.pump.dead_letters import DeadLetterChores
from queues.pump.deletions import DeletionChore
from queues.pump.incidents import IncidentChores
from queues.pump.lake_upkeep import LakeUpkeep
from queues.pump.nightly import NightlyReports
from queues.pump.service import BackgroundService
from queues.services.pools.managing import check_pools, list_pools
from queues.supervision import HEARTBEAT

NOTICE_SIGNAL_S: Final = 0.25


class Command(BaseCommand):
    help = (
        "Moves due jobs to ready, takes back jobs whose lease ran out, sweeps what has expired. Runs until SIGTERM or "
        "SIGINT; a second signal ends it at once. Several may run side by side, on several hosts."
    )
    requires_system_checks: list[str] = []  # as of `serve`; of pools, `check_pools` tells in the log

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--once", action="store_true", help="run each role once for every pool, print what it did, exit"
        )
        parser.add_argument("--heartbeat", type=Path, metavar="FILE", help="touch FILE every second while all is well")

    def handle(self, *, once: bool, heartbeat: Path | None, **options: Any) -> None:
        HEARTBEAT.begin()
        heartbeats = (HEARTBEAT.beat,) if heartbeat is None else (HEARTBEAT.beat, heartbeat.touch)
        service = BackgroundService(
            _pool_names,
            check_pools=_log_problems,
            heartbeats=heartbeats,
            nightly=NightlyReports(),
            incidents=IncidentChores(),
            deletions=DeletionChore(),
            lake=LakeUpkeep(),
            dead_letters=DeadLetterChores(),
        )
        if once:
            self._run_once(service)
            return
        _stop_on_signals(service)
        try:
            service.run()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)  # no alarm once Python has given up its handlers

    def _run_once(self, service: BackgroundService) -> None:
        failed = 0
        for report in service.run_once():
            if report.error is not None:
                failed += 1
                self.stderr.write(f"{report.pool} {report.role}: {report.error}")
                continue
            counts = report.counts
            self.stdout.write(
                f"{report.pool} {report.role}: queues={counts.queues} jobs={counts.jobs} dead={counts.dead}"
                + (" more=yes" if counts.more else "")
            )
        if failed:
            raise CommandError(f"{failed} of the roles failed")


def _log_problems() -> None:
    """Each pool whose Redis may lose jobs, as a warning in the log."""
    try:
        check_pools()
    finally:
        close_old_connections()


def _pool_names() -> list[str]:
    return [pool.name for pool in list_pools()]


def _stop_on_signals(service: BackgroundService) -> None:
    """First SIGTERM or SIGINT: finish the ticks under way, exit 0. Second: exit 1 at once."""
    received: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        if len(received) > 1:
            os._exit(1)
        service.ask_to_stop()
        # Python calls handlers between two steps of the main thread. One that begins to wait for a role's thread in the
        # instant in which a signal comes would learn of it only when that role has ended; each alarm wakes it.
        signal.setitimer(signal.ITIMER_REAL, NOTICE_SIGNAL_S, NOTICE_SIGNAL_S)

    signal.signal(signal.SIGALRM, lambda _number, _frame: None)
    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)
