"""The test database: where processes that tests start find it, and how it becomes again what it was."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock
from urllib.parse import quote

from django.db import connection
from django.test import TransactionTestCase


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


@contextmanager
def restored_from_a_copy() -> Iterator[None]:
    """Within the block, tests that commit end by putting a copy of the database back, if it is SQLite's.

    Django empties all tables instead and makes every permission anew, which takes 30 times as long.
    """
    if connection.vendor != "sqlite":
        yield
        return
    with sqlite3.connect(":memory:") as copy:
        connection.ensure_connection()
        connection.connection.backup(copy)

        def put_back(_test: TransactionTestCase) -> None:
            connection.ensure_connection()
            copy.backup(connection.connection)

        with mock.patch.object(TransactionTestCase, "_fixture_teardown", put_back):
            yield
    copy.close()
