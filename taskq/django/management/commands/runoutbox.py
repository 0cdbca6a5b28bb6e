"""`manage.py runoutbox`: publishes the jobs in the outbox."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from queues.engine import TaskqError
from taskq.cli.printing import log_to_stderr
from taskq.django.django_app import app, choose_app
from taskq.django.outbox.process import OutboxProcess
from taskq.django.outbox.relay import BATCH, OutboxRelay
from taskq.django.outbox.rows import database_of
from taskq.errors import TaskqClientError


class Command(BaseCommand):
    """Relays rows of the outbox until it is told to stop. Any number of them may run."""

    help = "Publish the jobs in the outbox. Run it beside the workers; any number may run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--database", metavar="ALIAS", help="whose outbox (default: by the routers)")
        parser.add_argument(
            "--backend", metavar="ALIAS", help="publish where this backend in TASKS does, not where TASKQ says"
        )
        parser.add_argument("--once", action="store_true", help="publish what waits, then end; status 1: some is left")
        parser.add_argument(
            "--poll",
            type=float,
            default=0.2,
            metavar="S",
            help="how often to look for rows where the database tells of none (%(default)g)",
        )
        parser.add_argument("--batch", type=int, default=BATCH, metavar="N", help="rows of a transaction (%(default)s)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Exits with status 1 if `--once` left something."""
        if not 0 < options["poll"] <= 60 or not 1 <= options["batch"] <= 10 * BATCH:
            raise CommandError(f"--poll is from 0 to 60, --batch from 1 to {10 * BATCH}")
        database = options["database"]
        if database is not None and database not in connections:
            raise CommandError(f"DATABASES has no {database!r}")
        log_to_stderr()
        try:
            chosen = choose_app(options["backend"])
            relay = OutboxRelay(
                chosen, using=database_of(database or True), takes_unnamed=chosen is app, batch=options["batch"]
            )
        except (TaskqClientError, TaskqError, LookupError) as error:
            raise CommandError(str(error)) from error
        process = OutboxProcess(relay, poll_s=options["poll"])
        process.handle_signals()
        if not options["once"]:
            process.run()
        elif not process.run_once():
            sys.exit(1)
