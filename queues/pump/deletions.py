"""The chore that carries out deletions once they can no longer be undone. A fault is logged once, and tried again."""

from __future__ import annotations

from collections.abc import Callable

from django.utils import timezone

from queues.services.deletions import carry_out_deletions

from .role import CircuitBreaker


class DeletionChore:
    """`tick`, to be called every second in a thread. Never raises."""

    def __init__(self, *, work: Callable[[], object] | None = None) -> None:
        self._work = work or _carry_out
        self._breaker = CircuitBreaker(subject="deletions")

    def tick(self) -> None:
        """Carry out what is due."""
        self._breaker.run(self._work)


def _carry_out() -> None:
    carry_out_deletions(now=timezone.now())
