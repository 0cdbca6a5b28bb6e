"""manage.py runreport: computes the reports of days that people name, or of those that are due."""

from __future__ import annotations

import logging
import os
import signal
import threading
from argparse import ArgumentParser
from collections.abc import Mapping
from datetime import date
from types import FrameType, TracebackType
from typing import Any, Final, Self

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, ProgrammingError

from queues.management.progress import ProgressLine
from queues.models import ReportTrigger
from queues.services.reporting.days import today, yesterday
from queues.services.reporting.failures import DayTakenError, ReportFailedError
from queues.services.reporting.mail import mail_report
from queues.services.reporting.nightly import report_due_days
from queues.services.reporting.ranges import days_between, parse_day
from queues.services.reporting.retention import prune_reports
from queues.services.reporting.running import make_report

logger = logging.getLogger(__name__)

FATAL: Final = frozenset({"stopped", "spark_missing", "java_missing", "master_unreachable", "disk_full", "day_taken"})
"""Kinds of failures after which the next day would fare no better."""


class Command(BaseCommand):
    help = (
        "Computes reports with Spark from the event lake and shows them on the dashboard; without a date that of "
        "yesterday. Days are UTC days. An earlier report of a day is replaced only by a good one."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--date", metavar="DAY", help="YYYY-MM-DD; today is allowed, and marked as incomplete")
        parser.add_argument("--from", dest="begin", metavar="DAY", help="first of several days")
        parser.add_argument("--to", dest="end", metavar="DAY", help="last of several days; default: yesterday")
        parser.add_argument("--master", default="", metavar="URL", help="Spark master; default: TASKQ_SPARK_MASTER")
        parser.add_argument("--quiet", action="store_true", help="say only what went wrong")
        parser.add_argument(
            "--nightly", action="store_true", help="all days of the lake that wait for a report; what runpump calls"
        )

    def handle(self, **options: Any) -> None:
        self._line = ProgressLine(self.stdout, quiet=options["quiet"])
        self._failures: list[ReportFailedError] = []
        self._master: str = options["master"]
        with _Stop() as self._stop:
            try:
                self._make_all(options)
            except ReportFailedError as error:
                raise CommandError(str(error)) from error
            except (OperationalError, ProgrammingError) as error:
                reason = str(error).splitlines()[0]
                raise CommandError(f"the database cannot be used ({reason}): is it running, and migrated?") from error
            finally:
                self._line.end()
        if self._stop.received:
            raise SystemExit(128 + self._stop.received)
        if self._failures:
            raise CommandError("\n".join(str(error) for error in self._failures))

    def _make_all(self, options: Mapping[str, Any]) -> None:
        if options["nightly"]:
            report_due_days(today=today, make=self._make_scheduled)
        else:
            for day in _wanted(options["date"], options["begin"], options["end"]):
                if not self._make(day, ReportTrigger.ASKED):
                    break
        if not self._stop.received:
            prune_reports(today=today())

    def _make_scheduled(self, day: date) -> bool:
        return self._make(day, ReportTrigger.SCHEDULED)

    def _make(self, day: date, trigger: ReportTrigger) -> bool:
        """Whether to go on with the next day."""
        is_scheduled = trigger == ReportTrigger.SCHEDULED
        try:
            made = make_report(
                day=day,
                trigger=trigger,
                unless_reported=is_scheduled,
                master=self._master,
                tell=self._line.show,
                stop=self._stop.event,
            )
        except ReportFailedError as error:
            if not (is_scheduled and isinstance(error, DayTakenError)):  # whoever has it will see to it
                self._failures.append(error)
            return error.kind not in FATAL
        self._line.say(f"{made.day}: {made.events:,} events, {made.rows:,} rows, {made.took_s:.1f} s")
        for text in made.warnings:
            logger.warning("report: %s", text, extra={"action": "report.make", "day": str(made.day)})
        if is_scheduled and day == yesterday():
            mail_report(day=day)
        return True


def _wanted(one: str | None, begin: str | None, end: str | None) -> list[date]:
    """Raises ReportFailedError for what cannot be meant, CommandError for what contradicts itself."""
    if one and (begin or end):
        raise CommandError("--date names one day, --from and --to several: use one or the other")
    if end and not begin:
        raise CommandError("--to needs --from")
    if begin:
        return days_between(begin=parse_day(begin), end=parse_day(end) if end else yesterday())
    day = parse_day(one) if one else yesterday()
    return days_between(begin=day, end=day)


class _Stop:
    """`with _Stop() as stop:` the first SIGTERM or SIGINT sets `stop.event`, a second ends this process at once.

    `received`: the number of the signal, or 0.
    """

    def __init__(self) -> None:
        self.event = threading.Event()
        self.received = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self.received:
            os._exit(1)
        self.received = number
        self.event.set()
