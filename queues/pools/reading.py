"""Reads metadata so that a database that is away costs little: one reconnection, then a pause."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final, TypeVar

from django.db import InterfaceError, OperationalError, connection

from .errors import MetadataUnavailableError

logger = logging.getLogger(__name__)
T = TypeVar("T")

PAUSE_S: Final = 1.0
"""After a failed read nobody tries again for this long: connecting may take seconds, and every call needs it."""

BROKEN_WITHIN_S: Final = 0.5
"""A connection that broke says so at once. Whoever waited longer than this for a fault would wait as long again."""

OUTAGE: Final = (OperationalError, InterfaceError)
"""What says that the database is away. Any other of its errors is about the question: the next one may be answered."""


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
    """What `read` returns from the database. Raises MetadataUnavailableError, and what `read` raises itself."""
    if is_pausing():
        raise MetadataUnavailableError
    try:
        result = _read_on_good_connection(read)
    except OUTAGE as fault:
        _outage.begin(fault)
        raise MetadataUnavailableError from fault
    _outage.end()
    return result


def _read_on_good_connection(read: Callable[[], T]) -> T:
    """Threads outside of Django's request cycle keep their connection, so nobody else notices that it broke.

    During an outage the old connection is of no use, so the read is made on a new one. Otherwise it is tried once more
    on a new one, but only if the fault came at once.
    """
    if _outage.known and not connection.in_atomic_block:
        connection.close()
        return read()
    started = time.monotonic()
    try:
        return read()
    except OUTAGE:
        if connection.in_atomic_block:
            raise
        connection.close()
        if time.monotonic() - started > BROKEN_WITHIN_S:
            raise
    return read()


def is_outage_known() -> bool:
    """Whether the last read failed because the database is away."""
    return _outage.known


def is_pausing() -> bool:
    """Whether a read failed so lately that nobody asks the database now."""
    return time.monotonic() < _outage.ask_again_at


def forget_outage() -> None:
    """Ask the database again at once."""
    _outage.forget()
