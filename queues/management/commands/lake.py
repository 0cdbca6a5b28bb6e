"""manage.py lake list | prune."""

from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import date
from typing import Any

from django.conf import settings
from django.core.management import CommandError

from queues.lake.storage import LakeError
from queues.management.verbs import VerbCommand
from queues.services.reporting.making.lake_retention import (
    DAYS_AT_ONCE,
    DeletionPlan,
    LakeRules,
    delete_days,
    plan_by,
)
from queues.services.reporting.reading.days import today


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text} is no date: expected YYYY-MM-DD") from None


class Command(VerbCommand):
    help = "Lists the days of the event lake, and deletes old ones. Reports stay."

    def add_verbs(self) -> None:
        self.verb("list", self.list, "List the days of the lake, and which are to be deleted.").add_argument(
            "--json", action="store_true", dest="as_json"
        )
        prune = self.verb(
            "prune",
            self.prune,
            "Delete the days that TASKQ_LAKE_KEEP_DAYS and TASKQ_LAKE_MAX_BYTES say, as runpump does by itself. Today, "
            "yesterday, and days whose events a report still needs, are kept.",
        )
        prune.add_argument("--before", type=_day, metavar="DAY", help="instead of the settings: all days before DAY")
        prune.add_argument("--dry-run", action="store_true", help="say what would be deleted, and delete nothing")

    def list(self, *, as_json: bool, **_options: Any) -> None:
        plan = _plan(None)
        doomed, kept = {one.day: one.reason for one in plan.doomed}, frozenset(plan.kept)
        rows = [
            (day, size.files, size.bytes, doomed.get(day) or ("kept: a report still needs it" if day in kept else ""))
            for day, size in plan.lake.days.items()
        ]
        if as_json:
            names = ("day", "files", "bytes", "to_be_deleted")
            self.print_json([dict(zip(names, row, strict=True)) for row in rows])
            return
        self.print_table(["DAY", "FILES", "BYTES", "TO BE DELETED"], rows)
        total = plan.lake.total
        self.stdout.write(f"{len(rows)} days; {total.files:,} files, {total.bytes:,} bytes in all")

    def prune(self, *, before: date | None, dry_run: bool, **_options: Any) -> None:
        plan = _plan(before)
        for one in plan.doomed:
            verb = "would delete" if dry_run else "deletes"
            self.stdout.write(f"{verb} {one.day}: {one.size.files:,} files, {one.size.bytes:,} bytes ({one.reason})")
        for day in plan.kept:
            self.stdout.write(f"keeps {day}: a report still needs its events")
        if dry_run:
            self.stdout.write(f"{len(plan.doomed)} days would be deleted; {plan.bytes:,} bytes would be left")
            return
        deleted = 0
        while plan.doomed:
            try:
                deleted += len(delete_days(plan))
            except LakeError as error:
                raise CommandError(str(error)) from error
            if len(plan.doomed) <= DAYS_AT_ONCE:
                break
            plan = _plan(before)
        self.stdout.write(f"{deleted} days deleted; {plan.bytes:,} bytes left")


def _plan(before: date | None) -> DeletionPlan:
    rules = LakeRules(keep_days=settings.TASKQ_LAKE_KEEP_DAYS, max_bytes=settings.TASKQ_LAKE_MAX_BYTES)
    try:
        return plan_by(rules if before is None else LakeRules(before=before), today=today())
    except LakeError as error:
        raise CommandError(str(error)) from error
