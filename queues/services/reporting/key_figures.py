"""The figures of a day that come first, each beside what is usual or beside another day."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from ..permissions import User
from .page_day import read_sums
from .shapes import Change, Figures

WEEKS: Final = 8
"""Past weeks whose same weekday tells what is usual."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """How a figure is called, read and written. `unit`: jobs, share, ms. `flaw`: the more, the worse."""

    key: str
    title: Promise
    unit: str
    read: Callable[[Figures], float | None]
    flaw: bool = False


FIGURES: Final = (
    Figure(key="published", title=_("Published"), unit="jobs", read=lambda one: one.published),
    Figure(key="consumed", title=_("Handed out"), unit="jobs", read=lambda one: one.consumed),
    Figure(key="acked", title=_("Acked"), unit="jobs", read=lambda one: one.acked),
    Figure(key="success_rate", title=_("Success rate"), unit="share", read=lambda one: one.success_rate),
    Figure(key="failed", title=_("Failed attempts"), unit="jobs", read=lambda one: one.failed, flaw=True),
    Figure(key="dead", title=_("Dead"), unit="jobs", read=lambda one: one.dead, flaw=True),
    Figure(key="expired", title=_("Expired"), unit="jobs", read=lambda one: one.expired, flaw=True),
    Figure(key="duplicates", title=_("Duplicate deliveries"), unit="jobs", read=lambda one: one.duplicates, flaw=True),
    Figure(key="wait_p95", title=_("Wait p95"), unit="ms", read=lambda one: one.wait.p95),
    Figure(key="run_p95", title=_("Run p95"), unit="ms", read=lambda one: one.run.p95),
    Figure(key="total_p95", title=_("Published to acked, p95"), unit="ms", read=lambda one: one.total.p95),
    Figure(key="backlog", title=_("Backlog at the end"), unit="jobs", read=lambda one: one.backlog),
)

COUNTED: Final = tuple(one for one in FIGURES if one.key in ("published", "success_rate", "failed", "dead"))

MEASURED: Final = (
    Figure(key="wait_p50", title=_("Wait p50"), unit="ms", read=lambda one: one.wait.p50),
    Figure(key="wait_p95", title=_("Wait p95"), unit="ms", read=lambda one: one.wait.p95),
    Figure(key="wait_p99", title=_("Wait p99"), unit="ms", read=lambda one: one.wait.p99),
    Figure(key="run_p50", title=_("Run p50"), unit="ms", read=lambda one: one.run.p50),
    Figure(key="run_p95", title=_("Run p95"), unit="ms", read=lambda one: one.run.p95),
    Figure(key="run_p99", title=_("Run p99"), unit="ms", read=lambda one: one.run.p99),
    Figure(key="total_p95", title=_("Published to acked, p95"), unit="ms", read=lambda one: one.total.p95),
)
"""Of tables that hold several days side by side."""

TITLES: Final[Mapping[str, Promise]] = {figure.key: figure.title for figure in FIGURES}
UNITS: Final[Mapping[str, str]] = {figure.key: figure.unit for figure in FIGURES}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFigure:
    """`against`: what `value` is held against, None if nothing is known; `weeks`: over how many weeks that is usual, 0
    when it is another day's. `is_flagged`: out of line with them."""

    figure: Figure
    value: float | None
    against: float | None = None
    weeks: int = 0
    is_flagged: bool = False

    @property
    def is_flaw(self) -> bool:
        """Whether something happened that should not."""
        return self.figure.flaw and bool(self.value)

    @property
    def is_new(self) -> bool:
        """Whether there is something where there usually is nothing."""
        return self.against == 0 and bool(self.value)


def beside_usual(figures: Figures, changes: Iterable[Change], queue: str) -> list[KeyFigure]:
    """With the report's own account of what is usual for this queue or namespace."""
    known = {change.figure: change for change in changes if change.queue == queue}
    found = []
    for figure in FIGURES:
        change = known.get(figure.key)
        value = figure.read(figures)
        if change is None:
            found.append(KeyFigure(figure=figure, value=value))
        else:
            flagged = change.is_flagged
            beside = KeyFigure(figure=figure, value=value, against=change.usual, weeks=change.weeks, is_flagged=flagged)
            found.append(beside)
    return found


def beside_past_weeks(figures: Figures, *, user: User, day: date) -> list[KeyFigure]:
    """Of all that a person may see: the medians of past weeks' sums. What does not add up has nothing beside it.

    Raises MetadataUnavailableError.
    """
    past = read_sums(user=user, days=[day - timedelta(weeks=back) for back in range(1, WEEKS + 1)])
    found = []
    for figure in FIGURES:
        adds_up = figure.unit != "ms" and figure.key != "backlog"
        values = [value for one in past.values() if adds_up and (value := figure.read(one)) is not None]
        usual = median(values) if values else None
        found.append(KeyFigure(figure=figure, value=figure.read(figures), against=usual, weeks=len(values)))
    return found


def beside_day(figures: Figures, other: Figures | None) -> list[KeyFigure]:
    """With another day's."""
    return [
        KeyFigure(figure=figure, value=figure.read(figures), against=figure.read(other) if other else None)
        for figure in FIGURES
    ]


def as_rows(columns: Sequence[Figures]) -> list[tuple[Promise, str, list[float | None]]]:
    """Title, unit and values of a table in which each column is a stretch of time."""
    return [(one.title, one.unit, [one.read(column) for column in columns]) for one in (*COUNTED, *MEASURED)]
