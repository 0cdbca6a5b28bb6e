"""manage.py lakeready: whether the event lake has all of a day, by exit status."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from queues.services.errors import TaskqError
from queues.services.reporting.failures import ReportFailedError
from queues.services.reporting.making.readiness import what_is_missing
from queues.services.reporting.reading.days import parse_day, yesterday


class Command(BaseCommand):
    help = (
        "Exits with 0 if the event lake has all events of a UTC day (without a date: yesterday), with 1 if some may "
        "still be in Redis. Changes nothing; for sensors of schedulers."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--date", metavar="DAY", help="YYYY-MM-DD")

    def handle(self, *, date: str | None, **options: Any) -> None:
        try:
            day = parse_day(date) if date else yesterday()
            missing = list(what_is_missing(day))
        except (ReportFailedError, TaskqError) as error:
            raise CommandError(str(error)) from error
        if missing:
            raise CommandError("\n".join(missing))
        self.stdout.write(f"the lake has all of {day}")
