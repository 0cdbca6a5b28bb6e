"""Django's settings of connections: the database of DATABASE_URL, the mail server of EMAIL_URL."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote, urlsplit

import dj_database_url

from .env import EnvError

SQLITE_TIMEOUT_S: Final = 20
"""How long a writer waits for another one. Writers are few: tokens made, `last used` noted, admin saves; and a report,
all of whose rows come in one transaction, which took 5.5 s for 5,000 queues."""

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


TIMEOUT_S: Final = 30
PORTS: Final = {"smtp": 25, "smtp+tls": 587, "smtps": 465}
BACKENDS: Final = "django.core.mail.backends"


def mail_settings(url: str) -> dict[str, Any]:
    """`smtp://`, `smtp+tls://` (STARTTLS) or `smtps://USER:PASSWORD@HOST:PORT`; `file:///DIRECTORY`, one file for each
    mail; `console:`. "": mails are not sent, and nobody should try.

    Raises EnvError, which does not repeat the URL: it may hold a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise EnvError("EMAIL_URL cannot be read: expected smtp://USER:PASSWORD@HOST:PORT") from error
    if not url:
        return {"EMAIL_BACKEND": f"{BACKENDS}.dummy.EmailBackend"}
    if parts.scheme == "console":
        return {"EMAIL_BACKEND": f"{BACKENDS}.console.EmailBackend"}
    if parts.scheme == "file" and parts.path.startswith("/"):
        return {"EMAIL_BACKEND": f"{BACKENDS}.filebased.EmailBackend", "EMAIL_FILE_PATH": unquote(parts.path)}
    if parts.scheme not in PORTS or not parts.hostname:
        schemes = ", ".join(f"{scheme}://HOST" for scheme in PORTS)
        raise EnvError(f"EMAIL_URL: expected one of {schemes}, file:///DIRECTORY, console:")
    return {
        "EMAIL_BACKEND": f"{BACKENDS}.smtp.EmailBackend",
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": port or PORTS[parts.scheme],
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_TLS": parts.scheme == "smtp+tls",
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_TIMEOUT": TIMEOUT_S,
    }
