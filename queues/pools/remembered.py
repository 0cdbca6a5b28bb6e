"""Answers of the database, remembered for a second, and for ten minutes while the database cannot be read."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar
from weakref import WeakSet

from .errors import MetadataUnavailableError
from .probes import PROBES, Probe
from .reading import forget_outage, read_metadata

K = TypeVar("K")
V = TypeVar("V")

FRESH_S: Final = 1.0
"""A revoked token must be refused within 2 s everywhere, so nothing may be older while the database answers."""

STALE_S: Final = 600.0
SIZE: Final = 10_000

_all: WeakSet[Remembered[object, object]] = WeakSet()


class _Entry(NamedTuple, Generic[V]):
    value: V
    read_at: float


class Remembered(Generic[K, V]):
    """A bounded memory; the least recently used goes first. What was not found is not remembered.

    Thread-safe. When an entry is no longer fresh, one thread reads it again. The others wait for that one, but not long
    if the entry can be used as it is: a database that hangs must not hold up those whom memory could answer.
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
        self._lock = threading.Lock()
        _all.add(self)  # type: ignore[arg-type]  # a set of all of them, whatever they hold

    def get(self, key: K, read: Callable[[V | None], V]) -> V:
        """The value of `key`, from memory or by `read`, which is given the older value if there is one.

        What `read` raises other than an outage is an answer ("there is none"): the key is forgotten and the error
        goes to the caller. Raises MetadataUnavailableError.
        """
        while True:
            with self._lock:
                entry, fresh = self._look_up(key)
                if entry is not None and fresh:
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
        """The value if it is fresh, or usable while the database is away; never waits and never asks the database."""
        with self._lock:
            entry, fresh = self._look_up(key)
        if entry is None or not (fresh or PROBES.keep_waiting()):
            return None
        return entry.value

    def forget(self) -> None:
        """Drop everything."""
        with self._lock:
            self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)

    def _look_up(self, key: K) -> tuple[_Entry[V] | None, bool]:
        """The entry unless it is too old for any use, and whether it is fresh."""
        entry = self._entries.get(key)
        age = 0.0 if entry is None else self._clock() - entry.read_at
        if entry is None or age > self._stale_s:
            return None, False
        if age > self._fresh_s:
            return entry, False
        self._entries.move_to_end(key)
        return entry, True

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
            self._keep(key, _Entry(value, asked_at))
            return value
        finally:
            with self._lock:
                self._probes.pop(key, None)
            PROBES.end(probe, answered=answered)

    def _keep(self, key: K, entry: _Entry[V]) -> None:
        with self._lock:
            self._entries[key] = entry
            self._entries.move_to_end(key)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)


def forget_everything() -> None:
    """Drop what all memories of this process hold, and ask the database again at once."""
    for memory in _all:
        memory.forget()
    forget_outage()
