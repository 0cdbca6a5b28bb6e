"""Reads metadata so that a database that is away costs little: one reconnection, then a pause."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final, TypeVar

from django.db import Error as DatabaseFault
from django.db import connection

from .errors import MetadataUnavailableError

logger = logging.getLogger(__name__)
T = TypeVar("T")

PAUSE_S: Final = 1.0
"""After a failed read nobody tries again for this long: connecting may take seconds, and every call needs it."""


class _Outage:
    """Whether the database is away, as far as this process knows."""

    def __init__(self) -> None:
        self.known = False
        self.ask_again_at = 0.0

    def begin(self, fault: Exception) -> None:
        self.ask_again_at = time.monotonic() + PAUSE_S
        if not self.known:
            self.known = True
            reason = f"{type(fault).__name__}: {fault}".splitlines()[0]
            logger.error("database cannot be read", extra={"action": "metadata.read", "reason": reason})

    def end(self) -> None:
        if self.known:
            self.forget()
            logger.warning("database can be read again", extra={"action": "metadata.read"})

    def forget(self) -> None:
        self.known = False
        self.ask_again_at = 0.0


_outage = _Outage()


def read_metadata(read: Callable[[], T]) -> T:
    """What `read` returns from the database. Raises MetadataUnavailableError, and what `read` raises itself.

    Threads outside of Django's request cycle keep their connection, so nobody else notices that it broke: after a fault
    it is closed here and the read tried once more on a new one.
    """
    if time.monotonic() < _outage.ask_again_at:
        raise MetadataUnavailableError
    try:
        try:
            result = read()
        except DatabaseFault:
            if connection.in_atomic_block:
                raise
            connection.close()
            result = read()
    except DatabaseFault as fault:
        _outage.begin(fault)
        raise MetadataUnavailableError from fault
    _outage.end()
    return result


def forget_outage() -> None:
    """Ask the database again at once."""
    _outage.forget()
