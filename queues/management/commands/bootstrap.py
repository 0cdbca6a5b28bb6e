"""manage.py bootstrap: everything that has to be there before the first start. `manage.py up` calls it."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand

from queues.management.local.data_dir import ensure_account


class Command(BaseCommand):
    help = "Migrates the database, makes the demo namespace with its token and the user admin."
    requires_system_checks: list[str] = []  # the tables that checks look at may not be there yet

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--account", type=Path, required=True, metavar="FILE", help="where to keep the secrets")

    def handle(self, *, account: Path, **options: Any) -> None:
        call_command("migrate", interactive=False, verbosity=0)
        ensure_account(account)
