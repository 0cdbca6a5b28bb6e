"""Runs the watch and the sending of alerts again and again in threads of a process that has others to do its work.

`runpump` has a scheduler of its own for that. The pages process uses these threads, so that somebody notices when no
`runpump` is there: they look only at pools at which nobody has looked for IDLE_EVERY, and send what is long due.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from django.db import close_old_connections, connections
from django.utils import timezone

from queues.engine.errors import TaskqError

from ..deletions import carry_out_deletions
from ..incidents.alerts.sending import send_due_alerts
from .watch import look_around

logger = logging.getLogger(__name__)

EVERY: Final = timedelta(seconds=5)
"""How often a pump looks at each pool."""

IDLE_EVERY: Final = timedelta(seconds=20)
"""After so long without a look somebody else takes it; alerts that are due for so long likewise."""

IDLE_PAUSE_S: Final = 10.0


def watch_pools() -> None:
    """One look, as a pump takes it. Raises database errors, MetadataUnavailableError."""
    try:
        look_around(now=timezone.now(), every=EVERY)
    finally:
        close_old_connections()


def send_alerts() -> None:
    """Send what is due, as a pump does. Raises database errors."""
    try:
        send_due_alerts(now=timezone.now())
    finally:
        close_old_connections()


def start_idle_watch(*, stopping: threading.Event | None = None) -> threading.Event:
    """Start the threads that look, send and delete where no pump does; they end with the process.

    The event that is returned stops them.
    """
    stopping = stopping or threading.Event()
    works = (("incident-watch", _look_if_idle), ("alert-sender", _send_if_idle), ("deletions", _delete_if_idle))
    for name, work in works:
        thread = threading.Thread(target=_repeat, args=(name, work, stopping), name=name, daemon=True)
        thread.start()
    return stopping


def _look_if_idle() -> None:
    look_around(now=timezone.now(), every=IDLE_EVERY)


def _send_if_idle() -> None:
    send_due_alerts(now=timezone.now(), late_by=IDLE_EVERY)


def _delete_if_idle() -> None:
    carry_out_deletions(now=timezone.now(), late_by=IDLE_EVERY)


def _repeat(name: str, work: Callable[[], None], stopping: threading.Event) -> None:
    """What goes wrong is logged once, until it works again."""
    is_in_trouble = False
    while not stopping.wait(IDLE_PAUSE_S):
        try:
            work()
        except Exception as error:  # the database may be away for hours
            if not is_in_trouble:
                unexpected = not isinstance(error, TaskqError)
                logger.warning(
                    "%s fails; it is tried again until it works", name, extra={"action": name}, exc_info=unexpected
                )
            is_in_trouble = True
        else:
            is_in_trouble = False
        finally:
            connections.close_all()
