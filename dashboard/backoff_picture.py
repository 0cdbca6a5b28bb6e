"""When the attempts of a job come if each of them fails: rows for a table with bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from queues.engine.backoff import Backoff
from queues.services.policies import preview_waits

ROWS: Final = 12
"""Attempts that are drawn."""

USUAL_TRIES: Final = 6
"""So many are drawn where a policy grants one try, to which no backoff applies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow:
    """An attempt: the shortest and longest wait before it, and when it comes after the first failure, all in ms.

    `start`, `end`: where its bar begins and ends, in hundredths of the picture's width.
    """

    attempt: int
    wait_ms: tuple[int, int]
    at_ms: tuple[int, int]
    start: float = 0.0
    width: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BackoffPicture:
    """`tries`: as the policy grants them. `more`: attempts beyond those that are drawn."""

    backoff: Backoff
    tries: int
    rows: Sequence[AttemptRow]
    more: int


def draw_backoff(*, pool: str, backoff: Backoff, tries: int) -> BackoffPicture:
    """As the pool's Redis computes it. Runs of no length are assumed. Raises StoreUnavailableError."""
    wanted = tries if tries > 1 else USUAL_TRIES
    shown = min(wanted, ROWS)
    waits = preview_waits(pool=pool, backoff=backoff, attempts=max(1, shown - 1))
    rows, least, most = [AttemptRow(attempt=1, wait_ms=(0, 0), at_ms=(0, 0))], 0, 0
    for attempt, (shortest, longest) in enumerate(waits, 2):
        least, most = least + shortest, most + longest
        rows.append(AttemptRow(attempt=attempt, wait_ms=(shortest, longest), at_ms=(least, most)))
    return BackoffPicture(backoff=backoff, tries=tries, rows=_placed(rows), more=max(0, wanted - shown))


def _placed(rows: Sequence[AttemptRow]) -> list[AttemptRow]:
    """With the places of their bars: from the earliest to the latest moment, on one scale."""
    whole = max(rows[-1].at_ms[1], 1)
    return [
        AttemptRow(
            attempt=row.attempt,
            wait_ms=row.wait_ms,
            at_ms=row.at_ms,
            start=round(row.at_ms[0] / whole * 98, 2),
            width=round(max((row.at_ms[1] - row.at_ms[0]) / whole * 98, 2.0), 2),
        )
        for row in rows
    ]
