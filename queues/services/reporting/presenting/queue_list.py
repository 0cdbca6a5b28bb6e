"""The queues of a day: filtered, sorted, in pages; of one day, of two days side by side, or as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Final

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from queues.models import QueueDay
from queues.models.report import ALL_QUEUES, COUNTS, METRIC_PARTS, METRICS
from queues.pools.database import read_metadata

from ...permissions import User
from ..reading.day_reports import JSON_FIELDS, days_that_lack_events, on_days, own_rows, row_of, visible_rows
from ..values import Pair, QueueRow, QueueTable
from .tables import AT_LEAST, TIME_ZONE, csv_lines

PAGE: Final = 50
"""Queues of one page."""

COMPARED_MAX: Final = 20_000
"""Queues of each of two days that are looked at to compare them: as many as a report keeps."""

SORTS: Final = frozenset(
    {"queue", "success_rate", "backlog", "flagged", "objective_share", *COUNTS}
    | {f"{metric}_{part}" for metric in METRICS for part in METRIC_PARTS if part != "exact"}
)
"""What a table may be sorted by: columns of QueueDay."""

DEFAULT_SORT: Final = "published"


class Only(StrEnum):
    """Which queues a table is about."""

    ALL = ""
    MISSED = "missed"
    """Their objective was not met."""
    FLAGGED = "flagged"
    """A figure is out of line with past weeks."""
    FAILING = "failing"
    """Attempts failed, or jobs died or expired."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFilter:
    """What is left empty lets everything through. `text`: anywhere in a queue's name. `sort`: one of SORTS, otherwise
    DEFAULT_SORT. Values that are missing come last, however a table is sorted."""

    pool: str = ""
    namespace: str = ""
    text: str = ""
    only: Only = Only.ALL
    sort: str = DEFAULT_SORT
    is_descending: bool = True

    @property
    def sort_column(self) -> str:
        return self.sort if self.sort in SORTS else DEFAULT_SORT


def list_queues(*, user: User, day: date, chosen: QueueFilter, page: int = 1, most: int = PAGE) -> QueueTable:
    """A page of the queues that `user` may see and `chosen` means; two queries. A page beyond the last is the last.

    Raises MetadataUnavailableError.
    """
    rows = chosen_rows(user=user, day=day, chosen=chosen)
    found = read_metadata(rows.count)
    pages = max(1, -(-found // most))
    page = min(max(page, 1), pages)
    shown = rows.defer(*JSON_FIELDS)[(page - 1) * most : page * most]
    return QueueTable(
        rows=tuple(row_of(row) for row in read_metadata(lambda: list(shown))), found=found, page=page, pages=pages
    )


def compare_queues(
    *, user: User, day: date, other: date, chosen: QueueFilter, page: int = 1, most: int = PAGE
) -> tuple[tuple[Pair, ...], int]:
    """A page of the queues that had something to do on either day, and how many there are in all.

    Sorted by what `chosen` says of `day`; those of `other` alone come after them. Raises MetadataUnavailableError.
    """
    names = ("pool", "namespace", "queue")
    keys: dict[tuple[str, str, str], None] = {}
    for one in (day, other):
        rows = chosen_rows(user=user, day=one, chosen=chosen).values_list(*names)
        keys.update(dict.fromkeys(read_metadata(lambda rows=rows: list(rows[:COMPARED_MAX]))))  # type: ignore[misc]
    page = min(max(page, 1), max(1, -(-len(keys) // most)))
    shown = list(keys)[(page - 1) * most : page * most]
    any_of = Q()
    for pool, namespace, queue in shown:
        any_of |= Q(pool=pool, namespace=namespace, queue=queue)
    rows_shown = (_rows_on(user, day, chosen) | _rows_on(user, other, chosen)).filter(any_of).defer(*JSON_FIELDS)
    found = [row_of(row) for row in read_metadata(lambda: list(rows_shown))] if shown else []
    return _pairs(shown, found, day, other), len(keys)


def chosen_rows(*, user: User, day: date, chosen: QueueFilter) -> QuerySet[QueueDay]:
    """All rows of a table, as a query, in order."""
    return _sorted(_chosen(_rows_on(user, day, chosen), chosen), chosen)


def _rows_on(user: User, day: date, chosen: QueueFilter) -> QuerySet[QueueDay]:
    """Of one namespace its own day; of all that `user` may see the day of UTC."""
    return own_rows(user).filter(on_days(day, day)) if chosen.namespace else visible_rows(user).filter(day_id=day)


def _pairs(keys: Iterable[tuple[str, str, str]], rows: Iterable[QueueRow], day: date, other: date) -> tuple[Pair, ...]:
    by_key = {(row.day, row.pool, row.namespace, row.queue): row for row in rows}
    return tuple(
        Pair(
            pool=pool,
            namespace=namespace,
            queue=queue,
            day=by_key.get((day, pool, namespace, queue)),
            other=by_key.get((other, pool, namespace, queue)),
        )
        for pool, namespace, queue in keys
    )


def _chosen(rows: QuerySet[QueueDay], chosen: QueueFilter) -> QuerySet[QueueDay]:
    rows = rows.exclude(queue=ALL_QUEUES)
    if chosen.pool:
        rows = rows.filter(pool=chosen.pool)
    if chosen.namespace:
        rows = rows.filter(namespace=chosen.namespace)
    if chosen.text:
        rows = rows.filter(queue__icontains=chosen.text)
    if chosen.only == Only.MISSED:
        rows = rows.filter(objective_met=False)
    elif chosen.only == Only.FLAGGED:
        rows = rows.filter(flagged__gt=0)
    elif chosen.only == Only.FAILING:
        rows = rows.filter(Q(failed__gt=0) | Q(dead__gt=0) | Q(expired__gt=0))
    return rows


def _sorted(rows: QuerySet[QueueDay], chosen: QueueFilter) -> QuerySet[QueueDay]:
    column = F(chosen.sort_column)
    first = column.desc(nulls_last=True) if chosen.is_descending else column.asc(nulls_last=True)
    return rows.order_by(first, "pool", "namespace", "queue")


BATCH: Final = 500

COLUMNS: Final = (
    "pool",
    "namespace",
    "queue",
    *COUNTS,
    "success_rate",
    "backlog",
    "objective_s",
    "objective_target",
    "objective_met",
    "objective_share",
    *(f"{metric}_{part}" for metric in METRICS for part in METRIC_PARTS),
    "first_at",
    "last_at",
)

HEAD: Final = ("day", *COLUMNS, AT_LEAST)


def queues_as_csv(*, user: User, day: date, chosen: QueueFilter) -> Iterator[str]:
    """The queues that `user` may see and `chosen` means, in its order; pieces of text of many lines each.

    Times in ms and UTC, shares 0 to 1; what is unknown is empty. Raises MetadataUnavailableError.
    """
    rows = chosen_rows(user=user, day=day, chosen=chosen).annotate(own_day=Coalesce("local_date", "day_id"))
    rows_read = rows.values_list("time_zone", "own_day", *COLUMNS)
    found = read_metadata(lambda: list(rows_read))  # at once, so that all are of one report: rows.QUEUES_MAX at most
    zone = found[0][0] if found else ""
    lacks_events = bool(days_that_lack_events(day, day, {day: zone}))
    more = (lacks_events, zone) if zone else (lacks_events,)
    yield csv_lines([(*HEAD, TIME_ZONE) if zone else HEAD])
    for begin in range(0, len(found), BATCH):
        yield csv_lines((*row[1:], *more) for row in found[begin : begin + BATCH])
