"""Makes reports: Spark computes them in one child process for several days; each is loaded as soon as it is there."""

from __future__ import annotations

import json
import logging
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.utils import timezone

from queues.lake.deletion import find_deletion
from queues.lake.storage import LakeError, Storage
from queues.models import ReportTrigger
from queues.spark_settings import SparkSettings, is_local

from ..failures import BadRangeError, DayTakenError, EventsGoneError, ReportFailedError, StoppedError
from ..reading.days import today
from .claims import new_run
from .holidays import holidays_between
from .loading import DayWork, Made, Progress, forget_run
from .local_days import local_days_of
from .report_process import ReportProcess
from .upkeep import compact_days

logger = logging.getLogger(__name__)

COMMAND: Final = (sys.executable, "-P", "-m", "queues.reports")
"""`-P`: nothing is imported from the folder where a command was typed."""

FINISHED: Final = "finished"
"""The stage by which `queues.reports` says that all files of a day are written."""

COMPARED: Final = timedelta(weeks=8)
"""How far back the days are that a day is compared with."""

WAIT_S: Final = 0.2
"""How soon a wish to stop is noticed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Callbacks of a run. `failed` answers whether to go on with the next day."""

    tell: Callable[[Progress], None]
    made: Callable[[Made], None]
    failed: Callable[[date, ReportFailedError], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How reports are to be made. `spark`: what is asked of Spark; what it leaves open is as Django's settings have it.
    `unless_reported`: leave days alone that have a good report by now. `stop`: when set, the work is given up.
    `command`: what is run, before its options."""

    trigger: ReportTrigger = ReportTrigger.ASKED
    unless_reported: bool = False
    spark: SparkSettings = field(default_factory=SparkSettings)
    stop: threading.Event
    command: Sequence[str] = COMMAND


def configured_spark() -> SparkSettings:
    """What Django's settings say of Spark."""
    return SparkSettings(
        master=settings.TASKQ_SPARK_MASTER,
        memory=settings.TASKQ_SPARK_MEMORY,
        properties_file=settings.TASKQ_SPARK_PROPERTIES,
        conf=settings.TASKQ_SPARK_CONF,
    )


def make_reports(*, days: Sequence[date], order: Order, listener: Listener) -> None:
    """Compute the reports of `days` and put each in the place of an earlier one, which stays if anything goes wrong.

    Days that were deleted from the lake fail. To be called from the main thread. Raises BadRangeError, and database
    errors if the database is away when a day is begun; all else is told to `listener`.
    """
    for day in days:
        if day > today():
            raise BadRangeError(f"{day} has not begun yet (it is {today()} UTC): there is nothing to report")
    rest = _without_deleted(days, listener)
    while rest:
        rest = _Batch(rest, order, listener).run()


def _without_deleted(days: Sequence[date], listener: Listener) -> list[date]:
    """Of the others it is told that they cannot be reported (any more): what reports they have stays."""
    lake = Storage(settings.TASKQ_LAKE_URL)
    rest: list[date] = []
    for day in days:
        try:
            deletion = find_deletion(lake, day)
        except LakeError:  # the process that computes finds that out, too, and says so on the day's row
            deletion = None
        if deletion is None:
            rest.append(day)
        elif not listener.failed(day, EventsGoneError(f"{deletion}. A report that there is stays as it is.")):
            return []
    return rest


def make_report(*, day: date, order: Order, tell: Callable[[Progress], None] = lambda _progress: None) -> Made:
    """The same for one day. Raises ReportFailedError too."""
    made: list[Made] = []
    failures: list[ReportFailedError] = []

    def note(_day: date, failure: ReportFailedError) -> bool:
        failures.append(failure)
        return False

    make_reports(days=[day], order=order, listener=Listener(tell=tell, made=made.append, failed=note))
    if failures:
        raise failures[0]
    return made[0]


class _Batch:
    """One process that computes: it takes the days in turn until all are done or one fails."""

    def __init__(self, days: Sequence[date], order: Order, listener: Listener) -> None:
        self._waiting = list(days)
        self._order, self._listener = order, listener
        self._run_id = new_run()
        self._work: DayWork | None = None
        self._taken: list[date] = []
        self._made: list[Made] = []
        self._goes_on = True
        self._local_file: Path | None = None

    def run(self) -> list[date]:
        """Days that were not begun, and still are to be made. Raises database errors."""
        days = list(self._waiting)
        self._begin(days[0])
        if self._work is None:
            return self._waiting if self._goes_on else []
        failure = self._compute(days)
        if failure is not None:
            self._fail(failure)
        for day in self._taken:
            forget_run(day, self._run_id)
        if not self._order.stop.is_set():
            compact_days(made.day for made in self._made if made.is_complete)
        return self._waiting if self._goes_on else []

    def _compute(self, days: Sequence[date]) -> ReportFailedError | None:
        """Have Spark write the files of these days, and load them. What went wrong, if anything."""
        child = None
        try:
            spark = self._spark()
            local = self._write_local_days(days)
            child = ReportProcess(
                [*self._order.command, *self._options(days), *local, *spark.arguments()],
                packages=settings.TASKQ_CHECKOUT_DIR,
                environment=spark.environment(),
            )
            for line in child.lines(wait_s=WAIT_S):
                self._check()
                if line is not None and "stage" in line.said:  # warnings are in the summary as well
                    self._hear(line.said)
                if not self._goes_on:
                    return None
            self._load()
            for text in child.last_errors:
                logger.info("report: standard error: %s", text, extra={"action": "report.make", "run": self._run_id})
        except ReportFailedError as error:
            return error
        except Exception as error:  # a fault of ours or of the database: the day's row says it, too
            return ReportFailedError(f"{type(error).__name__}: {error}")
        finally:
            if child is not None:
                child.stop()
            if self._local_file is not None:
                self._local_file.unlink(missing_ok=True)
        return None

    def _spark(self) -> SparkSettings:
        return self._order.spark.over(configured_spark())

    def _write_local_days(self, days: Sequence[date]) -> list[str]:
        """The option that names the days of namespaces with a time zone; nothing if there are none."""
        now = timezone.now()
        found = {day.isoformat(): [one.as_dict() for one in local_days_of(day, now=now)] for day in days}
        if not any(found.values()):
            return []
        handle, name = tempfile.mkstemp(prefix="taskq-local-days-", suffix=".json")
        self._local_file = Path(name)
        with open(handle, "w") as file:
            json.dump(found, file)
        return ["--local", name]

    def _options(self, days: Sequence[date]) -> list[str]:
        options = {
            "--lake": settings.TASKQ_LAKE_URL,
            "--out": settings.TASKQ_REPORTS_URL,
            "--run": self._run_id,
        }
        repeated = [("--date", day) for day in days]
        if days[0] < today() and is_local(self._spark().master):
            repeated.append(("--merge", days[0]))  # a cluster reads side by side what one process would merge alone
        repeated += [("--holiday", day) for day in holidays_between(min(days) - COMPARED, max(days))]
        dates = [part for name, day in repeated for part in (name, day.isoformat())]
        return [*(part for pair in options.items() for part in pair), *dates]

    def _check(self) -> None:
        """Raises StoppedError, ClaimLostError."""
        if self._order.stop.is_set():
            raise StoppedError("stopped before the report was made")
        if self._work is not None:
            self._work.check()

    def _hear(self, said: Mapping[str, Any]) -> None:
        day = _day_of(said)
        if day in self._waiting:  # it has gone on to this one
            self._load()
            self._begin(day)
        if self._work is None or self._work.day != day:
            return
        self._work.pass_on(said)
        if said["stage"] == FINISHED:
            self._load()

    def _begin(self, day: date) -> None:
        try:
            self._work = DayWork(
                day=day,
                run_id=self._run_id,
                trigger=self._order.trigger,
                unless_reported=self._order.unless_reported,
                tell=self._listener.tell,
            )
        except DayTakenError as error:
            self._taken.append(day)
            self._goes_on = self._listener.failed(day, error)
        self._waiting.remove(day)

    def _load(self) -> None:
        """Load the day that is being computed, if its results are not in the database yet."""
        if self._work is not None:
            made = self._work.load()
            self._work = None
            self._made.append(made)
            self._listener.made(made)

    def _fail(self, failure: ReportFailedError) -> None:
        """It is the failure of the day that was being computed, or else of the one that was to be next."""
        if isinstance(failure, StoppedError):
            self._goes_on = False
        elif self._work is None and self._waiting:
            self._begin(self._waiting[0])
        if self._work is not None:
            self._work.give_up(failure)
            self._goes_on = self._listener.failed(self._work.day, failure)


def _day_of(said: Mapping[str, Any]) -> date | None:
    try:
        return date.fromisoformat(str(said.get("date")))
    except ValueError:
        return None
