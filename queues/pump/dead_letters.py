"""The chores of dead letters: respawns at a rate, and counts of muted ones. A fault is logged once, and tried again."""

from __future__ import annotations

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
        self._respawn_breaker.run(carry_out_respawns)

    def count(self) -> None:
        """Count the muted groups that are due."""
        self._count_breaker.run(_count_and_prune)


def _count_and_prune() -> None:
    count_muted()
    prune_respawns(now=timezone.now())
