"""The test database, for processes that tests start."""

from __future__ import annotations

from urllib.parse import quote

from django.db import connection


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
