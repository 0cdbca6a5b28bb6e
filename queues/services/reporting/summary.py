"""A day on one page: what is printed, and what is mailed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final

from ..visible import User
from .days import find_day
from .merging import merge_day
from .reading import list_namespaces
from .shapes import DayEntry, Merged, QueueRow, QueueTable
from .tables import Only, QueueFilter, list_queues

MOST: Final = 15
"""Queues of each list; how many there are in all is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaySummary:
    """`missed`: queues that missed their objective, the longest waits first. `failing`: those with dead jobs or failed
    attempts, the most dead first. `flagged`: those out of line with past weeks."""

    entry: DayEntry
    totals: Merged
    namespaces: tuple[QueueRow, ...]
    missed: QueueTable
    failing: QueueTable
    flagged: QueueTable


def read_summary(*, user: User, day: date, most: int = MOST) -> DaySummary:
    """Of what `user` may see. Raises MetadataUnavailableError."""

    def table(only: Only, sort: str) -> QueueTable:
        return list_queues(user=user, day=day, chosen=QueueFilter(only=only, sort=sort), most=most)

    return DaySummary(
        entry=find_day(user=user, day=day),
        totals=merge_day(user=user, day=day),
        namespaces=list_namespaces(user=user, day=day),
        missed=table(Only.MISSED, "wait_p95"),
        failing=table(Only.FAILING, "dead"),
        flagged=table(Only.FLAGGED, "flagged"),
    )
