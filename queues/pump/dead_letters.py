"""The chores of dead letters: respawns at a rate, and counts of muted ones. A fault is logged once, and tried again."""

from __future__ import annotations

from collections.abc import Callable

from django.db import close_old_connections
from django.utils import timezone

from queues.services.dead_letters.respawn_plans import carry_out_respawns, prune_respawns
from queues.services.dead_letters.triage import count_muted

from .role import CircuitBreaker


class DeadLetterChores:
    """`respawn` and `count`, each to be called now and then in a thread. Neither raises."""

    def __init__(self) -> None:
        self._respawn_breaker = CircuitBreaker(subject="respawns at a rate")
        self._count_breaker = CircuitBreaker(subject="counts of muted dead letters")

    def respawn(self) -> None:
        """A step of each respawn that runs."""
        _try(carry_out_respawns, self._respawn_breaker)

    def count(self) -> None:
        """Count the muted groups that are due."""
        _try(_count_and_prune, self._count_breaker)


def _count_and_prune() -> None:
    count_muted()
    prune_respawns(now=timezone.now())


def _try(work: Callable[[], object], breaker: CircuitBreaker) -> None:
    if not breaker.may_try():
        return
    try:
        work()
    except Exception as error:  # the roles go on; it is tried again
        breaker.record_failure(error)
    else:
        breaker.record_success()
    finally:
        close_old_connections()
