"""Commands with verbs (`manage.py token create ...`): dispatch, errors and tables, so that each verb is a few lines."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError

from queues.engine.errors import TaskqError
from queues.pools.database import reason_of


class VerbCommand(BaseCommand):
    """A command whose first argument is a verb. What the services refuse becomes a one-line error with exit code 1."""

    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        self._verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
        self.add_verbs()

    def add_verbs(self) -> None:
        """Call `self.verb(...)` for each verb."""
        raise NotImplementedError

    def verb(self, name: str, run: Callable[..., None], text: str) -> ArgumentParser:
        """A parser for the arguments of `name`, which `run` takes by their names."""
        parser: ArgumentParser = self._verbs.add_parser(name, help=text, description=text)
        parser.set_defaults(run=run)
        return parser

    def handle(self, *args: Any, run: Callable[..., None], **options: Any) -> None:
        try:
            run(**options)
        except TaskqError as error:
            raise CommandError(str(error)) from error
        except (OperationalError, ProgrammingError) as error:
            reason = reason_of(error)
            raise CommandError(
                f"the database cannot be used ({reason}): is it running, and migrated? This command needs that "
                "of the server: set DATABASE_URL, or TASKQ_DATA_DIR"
            ) from error

    def print_json(self, value: Any) -> None:
        """`value` as JSON, times as ISO 8601."""
        self.stdout.write(json.dumps(value, default=str, indent=2))

    def print_table(self, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Columns as wide as their contents; None is a dash."""
        cells = [list(head), *([("-" if cell is None else str(cell)) for cell in row] for row in rows)]
        widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
        for row in cells:
            self.stdout.write("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
