"""Figures put together: all of a queue's day, days in a row, tables, days as one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from .days import DayEntry
from .figures import Figures, Metric, QueueRow
from .notable import Change, ErrorGroup, SlowJob, TryCount


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueReport:
    """All that a report says of a queue or namespace. `hours`: those in which something happened, in order.

    `histograms`: of each metric, bucket → jobs; buckets as in queues.lake.sketch. For a namespace, `errors`, `slowest`
    and `changes` may name any of its queues.
    """

    row: QueueRow
    entry: DayEntry
    hours: tuple[Figures, ...]
    histograms: Mapping[Metric, Mapping[int, int]]
    tries: tuple[TryCount, ...]
    errors: tuple[ErrorGroup, ...]
    slowest: tuple[SlowJob, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesDay:
    """One day of a series. `row` None: no report, or nothing happened; `has_report` tells which. `hours` as in
    QueueReport; empty unless asked for."""

    day: date
    has_report: bool
    row: QueueRow | None
    hours: tuple[Figures, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueTable:
    """A page of queues. `found`: how many there are on all pages; `page` counts from 1."""

    rows: tuple[QueueRow, ...]
    found: int
    page: int
    pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A queue (or namespace) on two days; None: nothing happened on that one."""

    pool: str
    namespace: str
    queue: str
    day: QueueRow | None
    other: QueueRow | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Several days as one. `figures`: counts added up, percentiles from the merged histograms (within 1 %), never
    averaged; `backlog` that of the end. `hours`: the same hours of all days added up, without percentiles where several
    were. `days`: those that have a report; `missing`: the others."""

    begin: date
    end: date
    days: tuple[date, ...]
    missing: tuple[date, ...]
    figures: Figures
    hours: tuple[Figures, ...]
    histograms: Mapping[Metric, Mapping[int, int]]
    tries: tuple[TryCount, ...]
