"""manage.py exporticeberg: copies days of the event lake into an Apache Iceberg table."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from queues.lake.storage import LakeError
from queues.services.reporting.failures import ReportFailedError
from queues.services.reporting.making.exporting import export_days, iceberg_target
from queues.services.reporting.reading.days import parse_day, yesterday


class Command(BaseCommand):
    help = (
        "Copies days of the event lake into an Iceberg table, a snapshot for each day that is new or has changed; "
        "without a date that of yesterday. A day that the table has as the lake has it is left as it is. Days are UTC."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--date", metavar="DAY", help="YYYY-MM-DD")
        which.add_argument("--all", action="store_true", help="all days that the lake has")

    def handle(self, **options: Any) -> None:
        try:
            days = None if options["all"] else [parse_day(options["date"]) if options["date"] else yesterday()]
            for done in export_days(days):
                said = "as it was" if done.snapshot is None else f"snapshot {done.snapshot}"
                self.stdout.write(f"{done.day}: {done.rows:,} events of {done.files} files, {said}")
                for file in done.damaged:
                    self.stderr.write(f"{done.day}: left out: {file.url}: {file.reason}")
        except (LakeError, ReportFailedError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"table {iceberg_target().table}")
