"""Caches of answers: `TtlCache` for rows of the database, `Recent` for what one caller reads on behalf of others.

A TtlCache keeps answers of the database for a second, and for ten minutes while the database cannot be read. What is in
use is read again before it expires, beside the calls that use it, by one thread for all caches of this process. It
ends, with its database connection, when there was nothing to do for a while. More work than it can do is left undone:
then an entry expires, and is read by the next caller that needs it.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Generic, TypeVar
from weakref import WeakSet

from django.db import close_old_connections, connection

from queues.engine.errors import TaskqError

from .database import PROBES, MetadataUnavailableError, Probe, forget_outage, read_metadata

logger = logging.getLogger(__name__)


K = TypeVar("K")
V = TypeVar("V")

FRESH_S: Final = 1.0
"""A revoked token must be refused within 2 s everywhere, also by processes that heard nothing of its revocation, so
nothing may be older while the database answers."""

REFRESH_AHEAD: Final = 0.5
"""What is asked for after this part of its freshness is read again beside the calls."""

STALE_S: Final = 600.0
SIZE: Final = 10_000

_all: WeakSet[TtlCache[object, object]] = WeakSet()
_NEVER: Final = float("-inf")

WAITING_MAX: Final = 256
"""Entries that wait to be read again."""

IDLE_S: Final = 5.0


class _Entry(Generic[V]):
    """A value, how to read it again, and until when it is what (seconds of the memory's clock)."""

    __slots__ = ("fresh_until", "read", "refresh_at", "usable_until", "value")

    def __init__(self, value: V, read: Callable[[V | None], V]) -> None:
        self.value = value
        self.read = read
        self.refresh_at = self.fresh_until = self.usable_until = _NEVER


class TtlCache(Generic[K, V]):
    """A bounded cache; the least recently used goes first. What was not found is not cached.

    Thread-safe. When an entry is no longer fresh, one thread reads it again. The others wait for that one, but not long
    if the entry can be used as it is: a database that hangs must not hold up those whom memory could answer. An entry
    that callers on an event loop keep asking for (`peek`) is read again before that.
    """

    def __init__(
        self,
        *,
        fresh_s: float = FRESH_S,
        stale_s: float = STALE_S,
        size: int = SIZE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fresh_s = fresh_s
        self._stale_s = stale_s
        self._size = size
        self._clock = clock
        self._entries: OrderedDict[K, _Entry[V]] = OrderedDict()
        self._probes: dict[K, Probe] = {}
        self._refreshing: set[K] = set()
        self._lock = threading.Lock()
        _all.add(self)  # type: ignore[arg-type]  # a set of all of them, whatever they hold

    def get(self, key: K, read: Callable[[V | None], V]) -> V:
        """The value of `key`, from memory or by `read`, which is given the older value if there is one.

        What `read` raises other than an outage is an answer ("there is none"): the key is forgotten and the error
        goes to the caller. Raises MetadataUnavailableError.
        """
        while True:
            with self._lock:
                entry = self._usable(key)
                if entry is not None and self._clock() <= entry.fresh_until:
                    self._entries.move_to_end(key)
                    return entry.value
                probe = self._probes.get(key)
                is_mine = probe is None
                if probe is None:
                    probe = PROBES.begin(must=entry is None)
                    if probe is None:
                        assert entry is not None  # or it would have had to
                        return entry.value
                    self._probes[key] = probe
            if is_mine:
                return self._read(key, read, entry, probe)
            if not probe.wait(patiently=entry is None) and entry is not None:
                return entry.value

    def peek(self, key: K) -> V | None:
        """The value if it is fresh, or usable while the database is away; never waits and never asks the database.

        It takes no lock, for it is asked by every request; what is in use keeps its place by being read again.
        """
        entry = self._entries.get(key)
        if entry is None:
            return None
        now = self._clock()
        if now <= entry.refresh_at:
            return entry.value
        if now <= entry.fresh_until:
            if key not in self._refreshing:
                self._refresh(key, entry)
            return entry.value
        return entry.value if now <= entry.usable_until and PROBES.keep_waiting() else None

    def expire(self, which: Callable[[K, V], bool]) -> None:
        """Mark entries as changed: they are read again before use, except while the database is away."""
        with self._lock:
            for entry in self._outdated(which):
                entry[1].refresh_at = entry[1].fresh_until = _NEVER

    def drop(self, which: Callable[[K, V], bool]) -> None:
        """Drop entries whose rows were deleted."""
        with self._lock:
            for key, entry in self._outdated(which):
                entry.refresh_at = entry.fresh_until = entry.usable_until = _NEVER
                del self._entries[key]

    def forget(self) -> None:
        """Drop everything."""
        with self._lock:
            self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)

    def _outdated(self, which: Callable[[K, V], bool]) -> list[tuple[K, _Entry[V]]]:
        """Entries that `which` means. What is being read meanwhile may be any of them, in its older form."""
        for probe in self._probes.values():
            probe.overtaken = True
        return [(key, entry) for key, entry in self._entries.items() if which(key, entry.value)]

    def _usable(self, key: K) -> _Entry[V] | None:
        """The entry unless it is too old for any use."""
        entry = self._entries.get(key)
        return entry if entry is not None and self._clock() <= entry.usable_until else None

    def _refresh(self, key: K, entry: _Entry[V]) -> None:
        """Have it read again, unless the database keeps callers waiting or somebody reads it already."""
        with self._lock:
            if key in self._refreshing or key in self._probes or PROBES.keep_waiting():
                return
            if REFRESHER.add(lambda: self._read_ahead(key, entry)):
                self._refreshing.add(key)

    def _read_ahead(self, key: K, entry: _Entry[V]) -> None:
        try:
            with self._lock:
                probe = None if key in self._probes else PROBES.begin(must=False)
                if probe is None:
                    return
                self._probes[key] = probe
            with suppress(TaskqError):  # an error is an answer as well; an outage is known by now
                self._read(key, entry.read, entry, probe)
        finally:
            with self._lock:
                self._refreshing.discard(key)

    def _read(self, key: K, read: Callable[[V | None], V], old: _Entry[V] | None, probe: Probe) -> V:
        asked_at = self._clock()
        answered = True
        try:
            value = read_metadata(lambda: read(None if old is None else old.value))
        except MetadataUnavailableError:
            answered = False
            if old is None:
                raise
            return old.value
        except Exception:
            with self._lock:
                self._entries.pop(key, None)
            raise
        else:
            self._keep(key, _Entry(value, read), asked_at, probe)
            return value
        finally:
            with self._lock:
                self._probes.pop(key, None)
            PROBES.end(probe, answered=answered)

    def _keep(self, key: K, entry: _Entry[V], asked_at: float, probe: Probe) -> None:
        """Keep an answer, unless a change overtook it: then it serves its caller only."""
        with self._lock:
            if probe.overtaken:
                return
            entry.refresh_at = asked_at + self._fresh_s * REFRESH_AHEAD
            entry.fresh_until = asked_at + self._fresh_s
            entry.usable_until = asked_at + self._stale_s
            self._entries[key] = entry
            self._entries.move_to_end(key)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)


def forget_everything() -> None:
    """Drop what all memories of this process hold, and ask the database again at once."""
    REFRESHER.stop()
    for memory in _all:
        memory.forget()
    forget_outage()


Work = Callable[[], object]


class Refresher:
    """A queue, and a thread while there is something in it. Thread-safe."""

    def __init__(self, *, idle_s: float = IDLE_S, size: int = WAITING_MAX) -> None:
        self._idle_s = idle_s
        self._waiting: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._size = size
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, work: Work) -> bool:
        """Do it soon. False: there is too much to do already."""
        if self._waiting.qsize() >= self._size:
            return False
        with self._lock:
            self._waiting.put(work)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="taskq-refresh", daemon=True)
                self._thread.start()
        return True

    def stop(self) -> None:
        """Finish what is waiting, and wait for the end of it. For tests; another `add` begins anew."""
        with self._lock:
            thread = self._thread
            if thread is not None:
                self._waiting.put(None)
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        try:
            while work := self._next():
                close_old_connections()
                try:
                    work()
                except Exception:
                    logger.exception("not refreshed", extra={"action": "metadata.refresh"})
        finally:
            connection.close()

    def _next(self) -> Work | None:
        """The next work. None: end the thread, which is no longer registered as running."""
        try:
            work = self._waiting.get(timeout=self._idle_s)
        except queue.Empty:
            work = None
        if work is None:
            with self._lock:
                try:
                    work = self._waiting.get_nowait()
                except queue.Empty:
                    self._thread = None
        return work


REFRESHER: Final = Refresher()


_all_recent: WeakSet[Recent[str, object]] = WeakSet()


class Recent(Generic[K, V]):
    """Answers no older than `for_s` seconds, by key. A caller that comes while one is being read waits for that one.

    At most `size` answers are kept: beyond that, all that are old go, then the oldest. What asking raises is raised to
    who asked, and not remembered.
    """

    def __init__(self, for_s: float, *, size: int = SIZE, clock: Callable[[], float] = time.monotonic) -> None:
        self._for_s = for_s
        self._size = size
        self._clock = clock
        self._locks: defaultdict[K, threading.Lock] = defaultdict(threading.Lock)
        self._answers: dict[K, tuple[float, V]] = {}
        _all_recent.add(self)  # type: ignore[arg-type]  # a set of all of them, whatever they hold

    def get(self, key: K, ask: Callable[[], V], *, holds: Callable[[V], bool] | None = None) -> V:
        """The answer to `key`: what `ask` says now or said lately, if that still `holds`."""
        with self._locks[key]:
            known = self._answers.get(key)
            if known is None or not self._is_new(known[0]) or (holds is not None and not holds(known[1])):
                known = self._answers[key] = (self._clock(), ask())
                self._make_room()
            return known[1]

    def _make_room(self) -> None:
        """A lock that somebody holds may go, too: then a key is read twice at once, which costs a read."""
        if len(self._answers) <= self._size:
            return
        by_age = list(self._answers.items())
        by_age.sort(key=lambda item: item[1][0])
        spare = len(by_age) - self._size
        for place, (key, (asked_at, _answer)) in enumerate(by_age):
            if place < spare or not self._is_new(asked_at):
                self._answers.pop(key, None)
                self._locks.pop(key, None)

    def peek(self, key: K) -> V | None:
        """The answer, if it is at hand and new enough; waits for nobody."""
        known = self._answers.get(key)
        return known[1] if known is not None and self._is_new(known[0]) else None

    def _is_new(self, asked_at: float) -> bool:
        return self._clock() - asked_at < self._for_s

    def forget(self) -> None:
        """Ask anew next time."""
        self._answers.clear()


def forget_recent() -> None:
    """Drop the answers that this process holds."""
    for memory in _all_recent:
        memory.forget()
