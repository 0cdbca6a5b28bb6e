"""DATABASE_URL → Django's DATABASES entry."""

from __future__ import annotations

from typing import Any, Final

import dj_database_url

from .env import EnvError

SQLITE_TIMEOUT_S: Final = 5
"""How long a writer waits for another one. Writers are few: tokens made, `last used` noted, admin saves."""

CONNECT_TIMEOUT_S: Final = 3
"""PostgreSQL. Short, so that a database that is away is noticed while callers still wait."""


def database_config(url: str) -> dict[str, Any]:
    """SQLite in WAL mode (readers never wait for a writer) or PostgreSQL. Raises EnvError without repeating the URL."""
    try:
        config: dict[str, Any] = {**dj_database_url.parse(url, conn_health_checks=True)}
    except (ValueError, KeyError) as error:
        raise EnvError(
            "DATABASE_URL cannot be read: expected sqlite:///PATH or postgres://USER:PASSWORD@HOST/NAME"
        ) from error
    engine = config["ENGINE"].rpartition(".")[2]
    options = config.setdefault("OPTIONS", {})
    if engine == "sqlite3":
        options.setdefault("timeout", SQLITE_TIMEOUT_S)
        options.setdefault("transaction_mode", "IMMEDIATE")
        options.setdefault("init_command", "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;")
    elif engine == "postgresql":
        options.setdefault("connect_timeout", CONNECT_TIMEOUT_S)
    else:
        raise EnvError(f"DATABASE_URL: taskq runs on SQLite and PostgreSQL, not on {engine}")
    return config
