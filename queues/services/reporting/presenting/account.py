"""What is told of a day on its page, on paper and in the mail, read once for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from ...permissions import User
from ..reading.day_reports import list_namespaces, read_queue
from ..reading.days import find_day
from ..reading.merging import Notes, Objectives, list_objectives, merge_day, notes_of, read_namespaces
from ..values import DayEntry, Figures, Metric, QueueReport, QueueRow, QueueTable, TryCount
from .figures import KeyFigure, beside_past_weeks, beside_usual
from .queue_list import QueueFilter, list_queues


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Of everything, of a namespace or of a queue. `namespaces`: those that were added up, () for a single scope;
    `reports`: of the busiest of them, or of the scope. `objectives` None: it is about one queue."""

    figures: Figures
    hours: Sequence[Figures]
    histograms: Mapping[Metric, Mapping[int, int]]
    tries: Sequence[TryCount]
    key_figures: Sequence[KeyFigure]
    namespaces: Sequence[QueueRow]
    reports: Sequence[QueueReport]
    notes: Notes
    objectives: Objectives | None

    @property
    def time_zone(self) -> str:
        """Of the day and its hours; "" is UTC, which is that of everything."""
        return "" if self.namespaces or not self.reports else self.reports[0].row.time_zone

    @property
    def tells_namespace(self) -> bool:
        """Whether a queue's name alone may not tell which one is meant."""
        return len(self.namespaces) > 1


def read_account(*, user: User, day: date, pool: str = "", namespace: str = "", queue: str = "") -> Account | None:
    """None: nothing is known of that day there. Raises NamespaceNotFoundError, MetadataUnavailableError."""
    return _of_scope(user, day, pool, namespace, queue) if namespace else _of_everything(user, day)


def _of_everything(user: User, day: date) -> Account | None:
    namespaces = list_namespaces(user=user, day=day)
    if not namespaces:
        return None
    merged = merge_day(user=user, day=day)
    reports = read_namespaces(user=user, day=day)
    changes = reports[0].changes if len(namespaces) == 1 else ()
    key_figures = beside_usual(merged.figures, changes, "") if changes else None
    return Account(
        figures=merged.figures,
        hours=merged.hours,
        histograms=merged.histograms,
        tries=merged.tries,
        key_figures=key_figures or beside_past_weeks(merged.figures, user=user, day=day),
        namespaces=namespaces,
        reports=reports,
        notes=notes_of(reports),
        objectives=list_objectives(user=user, day=day),
    )


def _of_scope(user: User, day: date, pool: str, namespace: str, queue: str) -> Account | None:
    report = read_queue(user=user, day=day, pool=pool, namespace=namespace, queue=queue)
    if report is None:
        return None
    return Account(
        figures=report.row.figures,
        hours=report.hours,
        histograms=report.histograms,
        tries=report.tries,
        key_figures=beside_usual(report.row.figures, report.changes, queue),
        namespaces=(),
        reports=(report,),
        notes=notes_of([report]),
        objectives=None if queue else list_objectives(user=user, day=day, pool=pool, namespace=namespace),
    )


QUEUES: Final = 12
"""The busiest; how many there are in all is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaySummary:
    """Of everything (no names), of a namespace or of a queue. `account` None: nothing happened there, or there is no
    report; `queues` None: then too, and of a queue."""

    entry: DayEntry
    pool: str
    namespace: str
    queue: str
    account: Account | None
    queues: QueueTable | None


def read_summary(*, user: User, day: date, pool: str = "", namespace: str = "", queue: str = "") -> DaySummary:
    """Of what `user` may see. Raises NamespaceNotFoundError, MetadataUnavailableError."""
    account = read_account(user=user, day=day, pool=pool, namespace=namespace, queue=queue)
    queues = None
    if account is not None and not queue:
        queues = list_queues(user=user, day=day, chosen=QueueFilter(pool=pool, namespace=namespace), most=QUEUES)
    return DaySummary(
        entry=find_day(user=user, day=day, pool=pool, namespace=namespace),
        pool=pool,
        namespace=namespace,
        queue=queue,
        account=account,
        queues=queues,
    )
