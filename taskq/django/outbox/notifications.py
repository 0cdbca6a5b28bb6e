"""Waits for new rows of the outbox: PostgreSQL notifies at once; other databases are polled."""

from __future__ import annotations

import contextlib
import logging
import os
import select
from typing import Any, Final

from django.db import connections

from ..models import CHANNEL

logger = logging.getLogger("taskq.outbox")

LISTENING_POLL_S: Final = 1.0
"""How often to look even if nothing was heard: a connection may be silently dead, and a pooler may pass nothing on."""


class OutboxNotifications:
    """`LISTEN` on a connection of its own, where the database is PostgreSQL and Django uses psycopg 3."""

    def __init__(self, using: str, *, poll_s: float) -> None:
        self._using = using
        self._poll_s = poll_s
        self._connection: Any = None
        self._can_listen = _has_psycopg3(using)
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)

    def listen(self) -> None:
        """Begin to listen, so that no row is missed that is written after this. Does nothing if it cannot."""
        if self._connection is not None or not self._can_listen:
            return
        try:
            self._connection = _connect(self._using)
        except Exception as error:  # it goes on by looking, and tries again
            logger.warning("outbox: cannot listen", extra={"action": "outbox.listen", "reason": str(error)[:200]})

    @property
    def is_listening(self) -> bool:
        """Whether notifications arrive at once, as far as is known."""
        return self._connection is not None

    def wait(self, longest_s: float | None = None) -> None:
        """Return when there may be new rows, after `longest_s` at the latest, or once `wake` is called."""
        most = LISTENING_POLL_S if self._connection is not None else self._poll_s
        timeout_s = most if longest_s is None else longest_s
        heard = [
            self._woken,
            *([self._connection.fileno()] if self._connection is not None and longest_s is None else []),
        ]
        ready, _, _ = select.select(heard, [], [], timeout_s)
        if self._woken in ready:
            os.read(self._woken, 1_000)
        elif ready:
            self._read()

    def wake(self) -> None:
        """End a `wait`, the present or the next one. May be called from a signal handler."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake, b".")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        os.close(self._woken)
        os.close(self._wake)

    def _read(self) -> None:
        try:
            self._connection.pgconn.consume_input()
            while self._connection.pgconn.notifies():
                pass
        except Exception as error:
            logger.warning("outbox: lost connection", extra={"action": "outbox.listen", "reason": str(error)[:200]})
            self._connection.close()
            self._connection = None


def _has_psycopg3(using: str) -> bool:
    connection: Any = connections[using]
    return bool(connection.vendor == "postgresql" and connection.Database.__name__ == "psycopg")


def _connect(using: str) -> Any:
    import psycopg

    own = connections[using]
    parameters = dict(own.get_connection_params())
    for name in ("cursor_factory", "context", "prepare_threshold", "server_side_binding"):
        parameters.pop(name, None)
    connection = psycopg.connect(**parameters, autocommit=True)
    connection.execute(f"LISTEN {CHANNEL}")
    return connection
