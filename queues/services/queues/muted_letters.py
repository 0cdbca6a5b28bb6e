"""How many dead letters of each queue are muted: incidents leave them out. `dead_letters.triage` counts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Q, QuerySet
from django.utils import timezone

from queues.models import ErrorTriage
from queues.pools.database import read_metadata

from ...pools.ttl_cache import Recent

FRESH_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MutedLetters:
    """Of the queues of one pool: by namespace and queue, dead letters that are muted, and those that died lately."""

    counts: Mapping[tuple[str, str], tuple[int, int]]

    def of(self, namespace: str, queue: str) -> tuple[int, int]:
        """Both numbers of a queue."""
        return self.counts.get((namespace, queue), (0, 0))


_recent: Final[Recent[str, MutedLetters]] = Recent(FRESH_S)


def read_muted(*, pool: str) -> MutedLetters:
    """At most FRESH_S old, besides the minute between two counts. Raises MetadataUnavailableError."""
    return _recent.get(pool, lambda: read_metadata(lambda: _read(pool)))


def forget_muted() -> None:
    """Read them anew next time: this process has changed them."""
    _recent.forget()


def muted_groups(now: datetime) -> QuerySet[ErrorTriage]:
    """Those that are muted at that time."""
    return ErrorTriage.objects.filter(muted_at__isnull=False).filter(Q(muted_until=None) | Q(muted_until__gt=now))


def _read(pool: str) -> MutedLetters:
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    rows = muted_groups(timezone.now()).filter(namespace__pool__name=pool).values_list("namespace__name", "counts")
    for namespace, counts in rows:
        for queue, (dead, died) in counts.items():
            before = sums.get((namespace, queue), (0, 0))
            sums[namespace, queue] = (before[0] + dead, before[1] + died)
    return MutedLetters(counts=sums)
