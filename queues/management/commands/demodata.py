"""manage.py demodata: made-up history in the event lake, to try the reports on."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from queues.lake.demo import DemoPlan, write_demo
from queues.lake.storage import LakeError


class Command(BaseCommand):
    help = "Writes made-up events of the last days, marked as such, straight into the event lake."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--days", type=int, default=14, help="so many days, up to yesterday in UTC (default: 14)")
        parser.add_argument("--jobs-per-day", type=int, default=20_000, help="of a working day (default: 20,000)")
        parser.add_argument("--until", type=date.fromisoformat, help="the last day, instead of yesterday (YYYY-MM-DD)")
        parser.add_argument("--seed", type=int, default=1, help="another number makes other jobs (default: 1)")

        parser.add_argument(
            "--incidents",
            action="store_true",
            help="one on every third day from the fifth week on, of seven kinds, and a holiday; lists them in the end",
        )
        parser.add_argument("--incidents-to", type=Path, metavar="FILE", help="write that list to FILE too, as JSON")

    def handle(self, *, days: int, jobs_per_day: int, until: date | None, seed: int, **options: Any) -> None:
        if days < 1 or jobs_per_day < 1:
            raise CommandError("--days and --jobs-per-day must be at least 1")
        last = until or datetime.now(UTC).date() - timedelta(days=1)
        try:
            first = last - timedelta(days=days - 1)
        except OverflowError:
            raise CommandError(f"--days {days:,} reaches back before the year 1") from None
        plan = DemoPlan(
            first=first,
            days=days,
            jobs_per_day=jobs_per_day,
            seed=seed,
            with_incidents=options["incidents"],
        )
        terminal = self.stderr.isatty()
        told: list[date] = []

        def tell(day: date, events: int) -> None:
            if terminal:
                self.stderr.write(f"\r{day}  {events:,} events", ending="")
            elif told[-1:] != [day]:
                self.stdout.write(f"{day} ...")
            told[:] = [day]

        try:
            events = write_demo(settings.TASKQ_LAKE_URL, plan, tell=tell)
        except LakeError as error:
            raise CommandError(str(error)) from error
        if terminal:
            self.stderr.write("")
        self.stdout.write(f"{events:,} events of {plan.first} to {last} in the lake")
        if plan.with_incidents:
            self._list_incidents(plan, options["incidents_to"])

    def _list_incidents(self, plan: DemoPlan, path: Path | None) -> None:
        for one in plan.incidents:
            self.stdout.write(str(one))
        for day in plan.holidays:
            self.stdout.write(f"{day}  holiday: TASKQ_HOLIDAYS={day} tells reports of it")
        if path:
            listed = {
                "incidents": [one.as_json() for one in plan.incidents],
                "holidays": [day.isoformat() for day in plan.holidays],
            }
            path.write_text(json.dumps(listed, indent=1) + "\n")
