"""Answers of the database, remembered for a second, and for ten minutes while the database cannot be read."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar
from weakref import WeakSet

from .errors import MetadataUnavailableError
from .reading import forget_outage, read_metadata

K = TypeVar("K")
V = TypeVar("V")

FRESH_S: Final = 1.0
"""A revoked token must be refused within 2 s everywhere, so nothing may be older while the database answers."""

STALE_S: Final = 600.0
SIZE: Final = 10_000
_LOCKS: Final = 64

_all: WeakSet[Remembered[object, object]] = WeakSet()


class _Entry(NamedTuple, Generic[V]):
    value: V
    read_at: float


class Remembered(Generic[K, V]):
    """A bounded memory; the least recently used goes first. What was not found is not remembered.

    Thread-safe. When an entry is no longer fresh, one thread reads it again and the others wait for that one.
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
        self._lock = threading.Lock()
        self._readers = tuple(threading.Lock() for _ in range(_LOCKS))
        _all.add(self)  # type: ignore[arg-type]  # a set of all of them, whatever they hold

    def get(self, key: K, read: Callable[[V | None], V]) -> V:
        """The value of `key`, from memory or by `read`, which is given the older value if there is one.

        What `read` raises other than database errors is an answer ("there is none"): the key is forgotten and the error
        goes to the caller. Raises MetadataUnavailableError.
        """
        entry = self._fresh(key)
        if entry is None:
            with self._readers[hash(key) % _LOCKS]:
                entry = self._fresh(key) or self._read(key, read)
        return entry.value

    def peek(self, key: K) -> V | None:
        """The value if it is fresh; never waits and never asks the database."""
        entry = self._fresh(key)
        return None if entry is None else entry.value

    def forget(self) -> None:
        """Drop everything."""
        with self._lock:
            self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)

    def _fresh(self, key: K) -> _Entry[V] | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or self._clock() - entry.read_at > self._fresh_s:
                return None
            self._entries.move_to_end(key)
            return entry

    def _read(self, key: K, read: Callable[[V | None], V]) -> _Entry[V]:
        old = self._entries.get(key)
        asked_at = self._clock()
        try:
            value = read_metadata(lambda: read(None if old is None else old.value))
        except MetadataUnavailableError:
            if old is None or asked_at - old.read_at > self._stale_s:
                raise
            return old
        except Exception:
            with self._lock:
                self._entries.pop(key, None)
            raise
        entry = _Entry(value, asked_at)
        with self._lock:
            self._entries[key] = entry
            self._entries.move_to_end(key)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)
        return entry


def forget_everything() -> None:
    """Drop what all memories of this process hold, and ask the database again at once."""
    for memory in _all:
        memory.forget()
    forget_outage()
