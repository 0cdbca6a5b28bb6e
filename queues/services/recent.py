"""A small cache: one caller refreshes an answer, the others wait for it. Unlike `pools.ttl_cache` it forgets no key."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakSet

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_all: WeakSet[Recent[str, object]] = WeakSet()


class Recent(Generic[K, V]):
    """Answers no older than `for_s` seconds, by key. A caller that comes while one is being read waits for that one.

    Keys are few (pools): nothing is ever forgotten. What asking raises is raised to who asked, and not remembered.
    """

    def __init__(self, for_s: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._for_s = for_s
        self._clock = clock
        self._locks: defaultdict[K, threading.Lock] = defaultdict(threading.Lock)
        self._answers: dict[K, tuple[float, V]] = {}
        _all.add(self)  # type: ignore[arg-type]  # a set of all of them, whatever they hold

    def get(self, key: K, ask: Callable[[], V]) -> V:
        """The answer to `key`: what `ask` says now, or said lately."""
        with self._locks[key]:
            known = self._answers.get(key)
            if known is None or not self._is_new(known[0]):
                known = self._answers[key] = (self._clock(), ask())
            return known[1]

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
    for memory in _all:
        memory.forget()
