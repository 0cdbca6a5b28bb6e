"""Makes the report of a day: claims it, has it computed, loads it, tidies up."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from queues.lake.compact import compact_day
from queues.lake.place import LakeError
from queues.models import ReportTrigger

from .child import Child
from .claims import Claim, claim_day, fail_day, finish_day
from .days import today
from .failures import BadRangeError, ClaimLostError, ReportFailedError, StoppedError
from .files import ReportFiles, files_of
from .keeping import Keeper
from .loading import load_results, read_results, warning
from .shapes import WarningKind

logger = logging.getLogger(__name__)

COMMAND: Final = (sys.executable, "-m", "queues.reports")

COMPUTED: Final = 0.9
"""Which share of the work is Spark's, as far as progress goes."""

LOADING: Final = "loading"
COMPACTING: Final = "compacting"
"""Stages after those that `queues.reports` tells of."""

WAIT_S: Final = 0.2
"""How soon a wish to stop is noticed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """`share` 0 to 1 of the day's work."""

    day: date
    stage: str
    share: float
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A report that is in the database. `events` read, `rows` of namespaces and queues written."""

    day: date
    events: int
    rows: int
    took_s: float
    warnings: tuple[str, ...]


def make_report(
    *,
    day: date,
    trigger: ReportTrigger = ReportTrigger.ASKED,
    unless_reported: bool = False,
    master: str = "",
    tell: Callable[[Progress], None] = lambda _progress: None,
    stop: threading.Event | None = None,
    command: Sequence[str] = COMMAND,
) -> Made:
    """Compute the report of `day` and put it in the place of an earlier one; that stays if anything goes wrong.

    `master`: a Spark master's URL; "" the one of the settings. `stop`: when set, the work is given up. `command`: what
    is run, before its options. To be called from the main thread. Raises ReportFailedError, and database errors if the
    database is away from the start.
    """
    if day > today():
        raise BadRangeError(f"{day} has not begun yet (it is {today()} UTC): there is nothing to report")
    claim = claim_day(day=day, trigger=trigger, unless_reported=unless_reported)
    files = None
    try:
        files = files_of(settings.TASKQ_REPORTS_URL, day)
        work = _Work(claim=claim, files=files, master=master, tell=tell, stop=stop or threading.Event())
        return work.do(command)
    except ClaimLostError:
        _forget(files, claim)
        raise
    except ReportFailedError as error:
        _forget(files, claim)
        _say_failed(claim, error, counts=not isinstance(error, StoppedError))
        raise
    except Exception as error:
        _forget(files, claim)
        failure = ReportFailedError(f"{type(error).__name__}: {error}")
        _say_failed(claim, failure, counts=True)
        raise failure from error


class _Work:
    def __init__(
        self,
        *,
        claim: Claim,
        files: ReportFiles,
        master: str,
        tell: Callable[[Progress], None],
        stop: threading.Event,
    ) -> None:
        self._claim = claim
        self._files = files
        self._master = master or settings.TASKQ_SPARK_MASTER
        self._tell_caller = tell
        self._stop = stop
        self._started = time.monotonic()
        self._warnings: list[dict[str, str]] = []

    def do(self, command: Sequence[str]) -> Made:
        with Keeper(self._claim) as self._keeper:
            self._compute(command)
            self._tell(LOADING, COMPUTED)
            results = read_results(files=self._files, run=self._claim.run)
            self._check()
            load_results(claim=self._claim, results=results, took_s=time.monotonic() - self._started)
            self._warnings = [*results.warnings]
            took_s = time.monotonic() - self._started
            self._tidy(is_complete=bool(results.summary.get("complete")))
        finish_day(self._claim, warnings=self._warnings)
        return Made(
            day=self._claim.day,
            events=int(results.summary["events"]),
            rows=len(results.rows),
            took_s=took_s,
            warnings=tuple(one["text"] for one in self._warnings),
        )

    def _compute(self, command: Sequence[str]) -> None:
        """Have Spark write the run's files."""
        child = Child([*command, *self._options()], packages=settings.BASE_DIR)
        try:
            for line in child.lines(wait_s=WAIT_S):
                self._check()
                if line is not None and "stage" in line.said:  # warnings are in the summary as well
                    self._pass_on(line.said)
        finally:
            child.stop()

    def _options(self) -> list[str]:
        options = {
            "--lake": settings.TASKQ_LAKE_URL,
            "--out": settings.TASKQ_REPORTS_URL,
            "--run": self._claim.run,
            "--date": self._claim.day.isoformat(),
            "--master": self._master,
        }
        return [part for pair in options.items() for part in pair]

    def _pass_on(self, said: Mapping[str, Any]) -> None:
        done, of = said.get("done"), said.get("of")
        share = done / of if isinstance(done, int | float) and isinstance(of, int | float) and of else 0.0
        self._tell(str(said.get("stage", "")), share * COMPUTED, str(said.get("message") or ""))

    def _tidy(self, *, is_complete: bool) -> None:
        """The report counts by now; what goes wrong here is a warning on it."""
        if self._keeper.is_lost:  # another run's files are not ours to delete
            raise ClaimLostError(f"{self._claim.day}: another process has taken the day over")
        try:
            self._files.make_current(self._claim.run)
            self._files.delete_runs(but=self._claim.run)
        except (OSError, LakeError) as error:
            self._warn(WarningKind.OTHER, f"the report's files were not put in order: {error}")
        if not is_complete or self._stop.is_set():  # of a day that goes on, more files are still to come
            return
        self._tell(COMPACTING, (1.0 + COMPUTED) / 2)
        try:
            compact_day(settings.TASKQ_LAKE_URL, self._claim.day)
        except Exception as error:  # whatever it is: the day's events are where they were
            self._warn(WarningKind.COMPACTION, f"the day's files were not compacted: {type(error).__name__}: {error}")

    def _warn(self, kind: WarningKind, text: str) -> None:
        self._warnings.append(warning(kind, text))

    def _tell(self, stage: str, share: float, message: str = "") -> None:
        self._keeper.tell(stage=stage, share=share)
        self._tell_caller(Progress(day=self._claim.day, stage=stage, share=share, message=message))

    def _check(self) -> None:
        """Raises StoppedError, ClaimLostError."""
        if self._stop.is_set():
            raise StoppedError(f"{self._claim.day}: stopped before the report was made")
        if self._keeper.is_lost:
            raise ClaimLostError(f"{self._claim.day}: another process has taken the day over")


def _forget(files: ReportFiles | None, claim: Claim) -> None:
    if files is not None:
        files.delete_run(claim.run)


def _say_failed(claim: Claim, failure: ReportFailedError, *, counts: bool) -> None:
    """Say on the day's row why there is no report. A database that is away leaves a claim that falls silent."""
    fields = {"action": "report.make", "day": str(claim.day), "run": claim.run}
    try:
        fail_day(claim, error=str(failure), counts=counts)
    except ClaimLostError:
        logger.warning("report: another process has the day", extra=fields)
    except (DatabaseError, InterfaceError) as error:
        connection.close()
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        logger.error("report: failure not written", extra=fields | {"reason": reason})
