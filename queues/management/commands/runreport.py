"""manage.py runreport: computes the reports of days that people name, or of those that are due."""

from __future__ import annotations

import logging
import os
import signal
import threading
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from datetime import date
from types import FrameType, TracebackType
from typing import Any, Final, Self

from django.core.management.base import BaseCommand, CommandError, OutputWrapper
from django.db import OperationalError, ProgrammingError
from django.utils import timezone

from queues import spark_settings
from queues.models import ReportTrigger
from queues.pools.database import reason_of
from queues.services.reporting.failures import DayTakenError, ReportFailedError
from queues.services.reporting.making.due_days import recent_days, report_due_days
from queues.services.reporting.making.exporting import export_recent_days
from queues.services.reporting.making.loading import Made, Progress
from queues.services.reporting.making.running import Listener, Order, make_reports
from queues.services.reporting.making.upkeep import (
    compact_closed_hours,
    compact_days,
    prune_reports,
    successors_to_make,
)
from queues.services.reporting.presenting.mail import mail_report
from queues.services.reporting.reading.days import days_between, parse_day, today, yesterday

logger = logging.getLogger(__name__)

WARNINGS_SAID: Final = 100

FATAL: Final = frozenset(
    {"stopped", "spark_missing", "java_missing", "bad_setting", "master_unreachable", "disk_full", "day_taken"}
)
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
        parser.add_argument("--today", action="store_true", help="today so far; what runpump calls every half hour")
        spark_settings.add_arguments(parser)
        parser.add_argument("--quiet", action="store_true", help="say only what went wrong")
        parser.add_argument(
            "--nightly", action="store_true", help="all days of the lake that wait for a report; what runpump calls"
        )

    def handle(self, **options: Any) -> None:
        self._line = ProgressLine(self.stdout, quiet=options["quiet"])
        self._failures: list[str] = []
        self._has_made = False
        self._goes_on = True
        self._made: list[date] = []
        self._spark = spark_settings.from_arguments(options)
        with _Stop() as self._stop:
            try:
                self._make_all(options)
            except ReportFailedError as error:
                raise CommandError(str(error)) from error
            except (OperationalError, ProgrammingError) as error:
                reason = reason_of(error)
                raise CommandError(f"the database cannot be used ({reason}): is it running, and migrated?") from error
            finally:
                self._line.end()
        if self._stop.received:
            raise SystemExit(128 + self._stop.received)
        if self._failures:
            raise CommandError("\n".join(self._failures))

    def _make_all(self, options: Mapping[str, Any]) -> None:
        if options["nightly"]:
            report_due_days(today=today, make=self._make_scheduled)
            if self._has_made and not self._stop.received:  # otherwise another process may be reading them
                compact_days(recent_days(today=today()))
                export_recent_days(recent_days(today=today()))
        elif options["today"]:
            compact_closed_hours(now=timezone.now())
            self._make([today()], ReportTrigger.SCHEDULED)
        else:
            days = _wanted(options["date"], options["begin"], options["end"])
            while days and not self._stop.received and self._goes_on:
                self._made = []
                self._make(days, ReportTrigger.ASKED)
                days = successors_to_make(self._made)
        if not self._stop.received:
            prune_reports(today=today())

    def _make_scheduled(self, days: Sequence[date]) -> bool:
        self._make(days, ReportTrigger.SCHEDULED)
        return not self._stop.received and self._goes_on

    def _make(self, days: Sequence[date], trigger: ReportTrigger) -> None:
        self._is_scheduled = trigger == ReportTrigger.SCHEDULED
        self._goes_on = True
        order = Order(trigger=trigger, unless_reported=self._is_scheduled, spark=self._spark, stop=self._stop.event)
        listener = Listener(tell=self._line.show, made=self._note_made, failed=self._note_failed)
        make_reports(days=days, order=order, listener=listener)

    def _note_made(self, made: Made) -> None:
        self._has_made = True
        self._made.append(made.day)
        self._line.say(f"{made.day}: {made.events:,} events, {made.rows:,} rows, {made.took_s:.1f} s")
        fields = {"action": "report.make", "day": str(made.day)}
        for text in made.warnings[:WARNINGS_SAID]:
            logger.warning("report: %s", text, extra=fields)
        if len(made.warnings) > WARNINGS_SAID:
            logger.warning("report: %s warnings in all; the report has them", len(made.warnings), extra=fields)
        if self._is_scheduled and made.is_complete and made.day == yesterday():
            mail_report(day=made.day)

    def _note_failed(self, day: date, failure: ReportFailedError) -> bool:
        """Whether to go on with the next day."""
        if not (self._is_scheduled and isinstance(failure, DayTakenError)):  # the process that has it computes it
            said = str(failure)
            self._failures.append(said if said.startswith(f"{day}: ") else f"{day}: {failure}")
            if self._is_scheduled:  # by the pump, whose log somebody reads
                fields = {"action": "report.make", "day": str(day), "kind": failure.kind}
                logger.error("report not made: %s", failure, extra=fields)
        self._goes_on = failure.kind not in FATAL
        return self._goes_on


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


CLEAR = "\r\x1b[K"


class ProgressLine:
    """`show` what goes on now, `say` what is to stay."""

    def __init__(self, out: OutputWrapper, *, quiet: bool) -> None:
        self._out = out
        self._quiet = quiet
        self._is_terminal = out.isatty()
        self._shown = ""

    def show(self, progress: Progress) -> None:
        if self._quiet:
            return
        text = f"{progress.day}  {progress.share:4.0%}  {progress.stage}"
        if self._is_terminal:
            self._shown = text
            self._out.write(f"{CLEAR}{text} {progress.message}"[:120], ending="")
            self._out.flush()
        elif progress.stage != self._shown:
            self._shown = progress.stage
            self._out.write(f"{text} {progress.message}".rstrip())

    def say(self, text: str) -> None:
        if not self._quiet:
            self.end()
            self._out.write(text)

    def end(self) -> None:
        """Leave no half a line behind."""
        if self._is_terminal and self._shown:
            self._out.write(CLEAR, ending="")
        self._shown = ""
