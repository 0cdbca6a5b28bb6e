"""What past days leave of a queue's error budget, from their reports.

Of N deliveries in the budget's days, (1 - target) × N may be late. What is left is a share of that; below 0 it is
overspent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

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
    """Over `days` days up to the last one. `late` of `total` deliveries; `target`: the share that has to be in time."""

    days: int
    target: float
    total: float
    late: float
    series: Sequence[BudgetDay]

    @property
    def allowed(self) -> float:
        """So many may be late."""
        return round(self.total * (1 - self.target), 6)

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
        allowed = sum(total for _, total in window) * (1 - target)
        late, total = counts[place]
        told.append(
            BudgetDay(
                day=series[place].day,
                left=1 - sum(late for late, _ in window) / allowed if allowed else None,
                burned=late / allowed if allowed and total else None,
            )
        )
    last = counts[-days:]
    return ErrorBudget(
        days=days,
        target=target,
        total=sum(total for _, total in last),
        late=round(sum(late for late, _ in last), 6),
        series=told,
    )


def _counts(one: SeriesDay) -> tuple[float, float]:
    """Late deliveries, and all, of a day that had an objective."""
    if one.row is None or one.row.objective is None or one.row.objective.share is None:
        return 0.0, 0.0
    total = one.row.figures.wait.count
    return total * (1 - one.row.objective.share), total
