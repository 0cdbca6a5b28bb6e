"""`manage.py runworker`: `taskq worker` for a Django project."""

from __future__ import annotations

import argparse
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from django.utils.autoreload import get_child_arguments

from queues.engine import TaskqError
from taskq.cli.run_worker import add_arguments, run_worker
from taskq.django.django_app import DjangoApp, app, choose_app, taskq_backends
from taskq.errors import TaskqClientError


class Command(BaseCommand):
    """Runs tasks: those of `taskq.django.app`, and those of TASKS backends in the same namespace."""

    help = "Run tasks: those of taskq.django.app, and those of Django's Tasks."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_arguments(parser)
        parser.add_argument(
            "--backend",
            metavar="ALIAS",
            help="serve this backend in TASKS, if it names another Redis or namespace than TASKQ does",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Exits with the worker's status unless that is 0."""
        connections.close_all()  # the worker's processes and threads open their own
        try:
            chosen = _app_to_serve(options["backend"])
            status = run_worker(lambda: chosen, argparse.Namespace(**options), get_child_arguments())
        except (TaskqClientError, TaskqError) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            status = 130
        if status:
            sys.exit(status)


def _app_to_serve(alias: str | None) -> DjangoApp:
    chosen = choose_app(alias)
    backends = {backend.alias: backend for backend in taskq_backends()}
    if alias is None and not app.tasks and backends and not app.backends():
        choices = "|".join(sorted(backends))
        raise CommandError(f"no task is in the namespace that TASKQ names: choose --backend {choices}")
    return chosen
