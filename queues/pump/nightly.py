"""Schedules the reports of the days that have ended (TASKQ_REPORT_AT) and of today so far.

They are made by a process of its own, `manage.py runreport --nightly` or `--today`: Spark needs memory and seconds of
both cores; the roles go on beside it. `queues.services.reporting.making.due_days` says which days wait. Several
`runpump` may find the same day due: its row in the database says which of them makes the report (`making.claims`).
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from django.conf import settings
from django.db import close_old_connections

from queues.services.reporting.making.due_days import can_compute, due_days, today_is_due
from queues.supervision import Child

from .role import CircuitBreaker

logger = logging.getLogger(__name__)

STOP_TIMEOUT_S: Final = 10.0
NICE: Final = 10
"""Spark may have all cores as long as nothing else needs them: publishing and consuming come first."""

NIGHTLY: Final = ("runreport", "--nightly", "--quiet")
TODAY: Final = ("runreport", "--today", "--quiet")


def is_time(now: datetime) -> bool:
    """Whether TASKQ_REPORT_AT has come today, and Spark is installed. `now`: with a time zone."""
    at = settings.TASKQ_REPORT_AT
    return at is not None and now.astimezone(UTC).time() >= at and can_compute()


class NightlyReports:
    """`tick` now and then, `stop` in the end. What the process writes goes to this one's standard error.

    `command`: what is run in the place of `manage.py runreport`.
    """

    def __init__(
        self, *, command: Sequence[str] = (), clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._command = command
        self._clock = clock
        self._lock = threading.Lock()
        self._is_stopped = False
        self._process: Child | None = None
        self._breaker = CircuitBreaker(subject="nightly report")

    def tick(self) -> None:
        """Start the command if it is time and a day waits. A database or lake that is away is logged once."""
        with self._lock:
            if not self._is_stopped and not self._is_busy():
                self._start_if_due()

    def stop(self) -> None:
        """End what is under way. Before the threads that call `tick` end: the process would be killed with them."""
        with self._lock:
            self._is_stopped = True
            process, self._process = self._process, None
        if process is not None:
            process.stop(STOP_TIMEOUT_S)

    def _start_if_due(self) -> None:
        now = self._clock()
        try:
            arguments = _arguments_due(now)
        except Exception as error:  # the roles go on; it is tried again
            self._breaker.record_failure(error)
            return
        finally:
            close_old_connections()
        self._breaker.record_success()
        if not arguments:
            return
        self._process = Child(self._command or (*settings.TASKQ_COMMAND, *arguments), stdout=subprocess.DEVNULL)
        with contextlib.suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, self._process.pid, NICE)  # what it starts gets the same

    def _is_busy(self) -> bool:
        if self._process is None:
            return False
        status = self._process.status
        if status is None:
            return True
        level = logging.INFO if status == 0 else logging.WARNING
        logger.log(level, "reports ended", extra={"action": "nightly_ended", "status": status})
        self._process = None
        return False


def _arguments_due(now: datetime) -> tuple[str, ...]:
    """Those of the command that is to be run; none if nothing is due. Raises LakeError, database errors."""
    if is_time(now) and (days := due_days(today=now.date())):
        logger.info("reports are due", extra={"action": "nightly_started", "first": str(days[0]), "days": len(days)})
        return NIGHTLY
    if today_is_due(now):
        logger.info(
            "a report of today is due", extra={"action": "nightly_started", "first": str(now.date()), "days": 1}
        )
        return TODAY
    return ()
