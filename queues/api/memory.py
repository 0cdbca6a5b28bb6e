"""Bounds the memory that request bodies and unread answers take in a process.

Only what is large counts: bodies from LARGE_BYTES on while they arrive and are worked on, and answers from LARGE_BYTES
on until their client has taken them. Small requests are always served. A namespace may take half of the whole, so that
one whose clients read slowly or send without end leaves room for others.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from django.conf import settings

from .errors import ServerBusyError

LARGE_BYTES: Final = 65_536

COPIES: Final = 3
"""A body is in memory so often at its worst: as it came, cut into jobs, and on its way to Redis."""


class MemoryBudget:
    """Counts bytes by namespace. For one event loop."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._shares: defaultdict[str, int] = defaultdict(int)

    def check(self, namespace: str) -> None:
        """Raise ServerBusyError if nothing more should be begun for the namespace."""
        if self.used > self.limit or self.share(namespace) > self.limit // 2:
            raise ServerBusyError("server busy")

    def hold(self, namespace: str) -> MemoryHold:
        """A count of its own, empty at first."""
        return MemoryHold(self, namespace)

    def share(self, namespace: str) -> int:
        """What a namespace takes."""
        return self._shares.get(namespace, 0)

    def add(self, namespace: str, size: int) -> None:
        """Count `size` bytes, or give back -`size`."""
        self.used += size
        share = self._shares[namespace] = self._shares[namespace] + size
        if not share:
            del self._shares[namespace]


class MemoryHold:
    """What one request has taken of a budget."""

    __slots__ = ("_budget", "_namespace", "size")

    def __init__(self, budget: MemoryBudget, namespace: str) -> None:
        self._budget = budget
        self._namespace = namespace
        self.size = 0

    def grow(self, size: int) -> None:
        """Take `size` bytes more. Raises ServerBusyError, and takes nothing.

        A request that has the namespace, or the process, to itself gets what it needs, so that each can be served.
        """
        budget = self._budget
        others, others_here = budget.used - self.size, budget.share(self._namespace) - self.size
        mine = self.size + size
        if (others and others + mine > budget.limit) or (others_here and others_here + mine > budget.limit // 2):
            raise ServerBusyError("server busy")
        budget.add(self._namespace, size)
        self.size = mine

    def release(self) -> None:
        """Give back all of it."""
        size, self.size = self.size, 0
        if size:
            self._budget.add(self._namespace, -size)


MEMORY: Final = MemoryBudget(settings.TASKQ_WORKER_MEMORY_MB * 1024 * 1024)
"""The process's."""
