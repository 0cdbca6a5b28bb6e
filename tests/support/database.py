"""The test database: where processes that tests start find it, and how it becomes again what it was."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from unittest import mock
from urllib.parse import quote

from django.apps import apps
from django.core.management import call_command
from django.db import connection, transaction
from django.test import TransactionTestCase

from tests.support.once import made_once

MIGRATED: Final = "migrated.sqlite3"
LOCKED_TIMEOUT_S: Final = 20.0


def url_of_database() -> str:
    """DATABASE_URL of the database that the running test uses."""
    settings = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{settings['NAME']}"
    credentials = quote(settings["USER"], safe="")
    if settings["PASSWORD"]:
        credentials += ":" + quote(settings["PASSWORD"], safe="")
    port = f":{settings['PORT']}" if settings["PORT"] else ""
    return f"postgres://{credentials}@{quote(settings['HOST'], safe='')}{port}/{settings['NAME']}"


def copy_migrated(file: Path) -> None:
    """Make `file` a migrated database, as Django's test runner would: to migrate one takes seconds."""
    shutil.copy(made_once("migrated", _migrate) / MIGRATED, file)


def _migrate(directory: Path) -> None:
    settings = connection.settings_dict
    connection.close()
    with mock.patch.dict(settings, NAME=str(directory / MIGRATED)):
        call_command("migrate", verbosity=0, interactive=False, run_syncdb=True)
        connection.close()


@contextmanager
def restored_after_commits() -> Iterator[None]:
    """Within the block, tests that commit end by making the database what it was when it began.

    Django empties the tables and makes every permission anew, which takes a hundred times as long.
    """
    put_back = _copied_back() if connection.vendor == "sqlite" else _rows_put_back()
    with mock.patch.object(TransactionTestCase, "_fixture_teardown", put_back):
        yield


def _copied_back() -> Callable[[TransactionTestCase], None]:
    connection.ensure_connection()
    kept = sqlite3.connect(":memory:", check_same_thread=False)
    connection.connection.backup(kept)

    def put_back(_test: TransactionTestCase) -> None:
        connection.close()  # a test may have left a cursor open, and SQLite copies over none
        connection.ensure_connection()
        deadline = time.monotonic() + LOCKED_TIMEOUT_S

        def look_at_the_clock(_status: int, _left: int, _all: int) -> None:
            """Python's `backup` would wait for ever for a connection that has locked the database."""
            if time.monotonic() > deadline:
                raise TimeoutError("another connection has the test database locked")

        kept.backup(connection.connection, progress=look_at_the_clock)

    return put_back


def _rows_put_back() -> Callable[[TransactionTestCase], None]:
    models = apps.get_models(include_auto_created=True)
    rows = {model: list(model._base_manager.all()) for model in models if model._base_manager.exists()}
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    # To truncate a table is to make new files of it and of its indexes. Foreign keys are checked at the end.
    emptied = "; ".join(f"DELETE FROM {connection.ops.quote_name(table)}" for table in tables)

    def put_back(_test: TransactionTestCase) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(emptied)
            for model, kept in rows.items():
                model._base_manager.bulk_create(kept)

    return put_back
