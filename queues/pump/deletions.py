"""The chore that carries out deletions once they can no longer be undone. A fault is logged once, and tried again."""

from __future__ import annotations

from collections.abc import Callable

from django.db import close_old_connections
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
        if not self._breaker.may_try():
            return
        try:
            self._work()
        except Exception as error:  # the roles go on; it is tried again
            self._breaker.record_failure(error)
        else:
            self._breaker.record_success()


def _carry_out() -> None:
    try:
        carry_out_deletions(now=timezone.now())
    finally:
        close_old_connections()
