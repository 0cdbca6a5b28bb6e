"""Reads metadata so that a database that is away costs little: one reconnection, then a pause. Errors of such reads.

A caller with an older answer at hand need not wait for a database that hangs: one caller that finds out is enough, and
its read under way is the probe of all others.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

from django.db import InterfaceError, OperationalError, connection

from queues.engine.errors import TaskqError


class MetadataUnavailableError(TaskqError):
    """The database cannot be read, and what was asked for is not cached."""

    code = "metadata_unavailable"

    def __init__(self) -> None:
        super().__init__("metadata unavailable")


class PoolNotFoundError(TaskqError):
    """There is no pool of this name."""

    code = "pool_not_found"

    def __init__(self) -> None:
        super().__init__("pool not found")


logger = logging.getLogger(__name__)
T = TypeVar("T")

PAUSE_S: Final = 1.0
"""After a failed read none is tried for this long: connecting may take seconds, and every call needs it."""

BROKEN_WITHIN_S: Final = 0.5
"""A connection that broke says so at once. After a longer wait for a fault, the next would take as long."""

OUTAGE: Final = (OperationalError, InterfaceError)
"""What says that the database is away. Any other of its errors is about the question: the next one may be answered."""


def reason_of(fault: Exception) -> str:
    """What went wrong, in one line: databases say more in further ones."""
    return f"{type(fault).__name__}: {fault}".splitlines()[0]


class _Outage:
    """Whether the database is away, as far as this process knows."""

    def __init__(self) -> None:
        self.known = False
        self.ask_again_at = 0.0

    def begin(self, fault: Exception) -> None:
        self.ask_again_at = time.monotonic() + PAUSE_S
        if not self.known:
            self.known = True
            logger.error("database cannot be read", extra={"action": "metadata.read", "reason": reason_of(fault)})

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


def check_database() -> None:
    """Raise MetadataUnavailableError unless the database answers."""
    read_metadata(_select_1)


def _select_1() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _read_on_good_connection(read: Callable[[], T]) -> T:
    """Threads outside of Django's request cycle keep their connection, so Django does not notice that it broke.

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
    """Whether a read failed within PAUSE_S: the database is not asked now."""
    return time.monotonic() < _outage.ask_again_at


def forget_outage() -> None:
    """Ask the database again at once."""
    _outage.forget()


PATIENCE_S: Final = 0.25
"""How long callers with an older answer at hand wait for a newer one."""


class Probe:
    """A read under way. `done` is set when it has ended, however it did; `overtaken`: what it reads has changed."""

    __slots__ = ("done", "overtaken", "started_at")

    def __init__(self) -> None:
        self.started_at = time.monotonic()
        self.done = threading.Event()
        self.overtaken = False

    def wait(self, *, patiently: bool) -> bool:
        """Whether it has ended; unless `patiently`, not waited for beyond PATIENCE_S from its own beginning."""
        if patiently:
            return self.done.wait()
        return self.done.wait(max(0.0, self.started_at + PATIENCE_S - time.monotonic()))


class _Probes:
    """All probes of this process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[Probe] = set()
        self._answered_at = float("-inf")

    def begin(self, *, must: bool) -> Probe | None:
        """A new probe. None, unless one `must` know: the database keeps others waiting already."""
        with self._lock:
            if not must and self._keep_waiting():
                return None
            probe = Probe()
            self._running.add(probe)
            return probe

    def end(self, probe: Probe, *, answered: bool) -> None:
        with self._lock:
            self._running.discard(probe)
            if answered:
                self._answered_at = time.monotonic()
        probe.done.set()

    def keep_waiting(self) -> bool:
        """Whether asking the database now would only mean to wait for it."""
        with self._lock:
            return self._keep_waiting()

    def _keep_waiting(self) -> bool:
        """In an outage one probe at a time is enough.

        Otherwise the database must have been silent for PATIENCE_S altogether: one that is merely slow answers somebody
        now and then, and revocations are felt as long as it does.
        """
        if is_pausing():
            return True
        if not self._running:
            return False
        if is_outage_known():
            return True
        latest = time.monotonic() - PATIENCE_S
        return self._answered_at < latest and any(probe.started_at < latest for probe in self._running)


PROBES: Final = _Probes()
