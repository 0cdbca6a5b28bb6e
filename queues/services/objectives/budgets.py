"""What past days leave of a queue's error budget, from their reports.

Of N deliveries of a day, (1 - target) × N may be late, by the target that the day's report was made with. What is left
is a share of the sum over the budget's days; below 0 it is overspent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from django.conf import settings

from ..permissions import User
from ..reporting.reading.day_reports import read_series
from ..reporting.values import SeriesDay


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetDay:
    """The budget at the end of a day: `left`, 1 of a whole one; `burned`: what the day took of it. None: nothing is
    known, for want of deliveries."""

    day: date
    left: float | None
    burned: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBudget:
    """Over `days` days up to the last one. `late` of `total` deliveries, and how many are `allowed` to be, by the
    target that each day had when it was reported; `target`: the share that has to be in time now."""

    days: int
    target: float
    total: float
    late: float
    allowed: float
    series: Sequence[BudgetDay]

    @property
    def left(self) -> float | None:
        """1: all of it; 0 and less: nothing. None: nothing was delivered."""
        return 1 - self.late / self.allowed if self.allowed else None


def read_budget(
    *, user: User, pool: str, namespace: str, queue: str, until: date, shown: int, target: float
) -> ErrorBudget:
    """Of a queue at the end of `until`, and of the `shown` days up to it. Two queries.

    Raises NamespaceNotFoundError, MetadataUnavailableError.
    """
    days = shown + settings.TASKQ_BUDGET_DAYS - 1
    series = read_series(user=user, pool=pool, namespace=namespace, queue=queue, until=until, days=days)
    return budget_of(series, target=target, shown=shown)


def budget_of(series: Sequence[SeriesDay], *, target: float, shown: int) -> ErrorBudget:
    """`series`: consecutive days, the earliest first, the budget's days before the first one shown among them."""
    days: int = settings.TASKQ_BUDGET_DAYS
    counts = [_counts(one) for one in series]
    told = []
    for place in range(max(len(series) - shown, 0), len(series)):
        window = counts[max(place - days + 1, 0) : place + 1]
        allowed = sum(day.allowed for day in window)
        late, total = counts[place].late, counts[place].total
        told.append(
            BudgetDay(
                day=series[place].day,
                left=1 - sum(day.late for day in window) / allowed if allowed else None,
                burned=late / allowed if allowed and total else None,
            )
        )
    last = counts[-days:]
    return ErrorBudget(
        days=days,
        target=target,
        total=sum(day.total for day in last),
        late=round(sum(day.late for day in last), 6),
        allowed=round(sum(day.allowed for day in last), 6),
        series=told,
    )


class _Counts(NamedTuple):
    """Late deliveries of a day, all, and how many were allowed to be late."""

    late: float = 0.0
    total: float = 0.0
    allowed: float = 0.0


def _counts(one: SeriesDay) -> _Counts:
    """Nothing of a day that had no objective."""
    objective = one.row.objective if one.row else None
    if one.row is None or objective is None or objective.share is None:
        return _Counts()
    total = one.row.figures.wait.count
    return _Counts(total * (1 - objective.share), total, total * (1 - objective.target))
