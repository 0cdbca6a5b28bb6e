"""Several days as one, or several namespaces: counts are added up, percentiles come from merged histograms.

An average of percentiles would be no percentile of anything. A histogram's are off by at most 1 % (queues.lake.sketch).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Final

from django.db.models import QuerySet

from queues.lake.sketch import merge, quantile
from queues.models import QueueDay
from queues.models.report import ALL_QUEUES, COUNTS, QUANTILES
from queues.pools.database import read_metadata

from ..permissions import User
from .building import JSON_FIELDS, histograms_of, hours_of, row_of, success_rate_of, tries_of
from .reading import NAMESPACES_MAX, reported_days, rows_of, visible_rows
from .shapes import Figures, Merged, Metric, Spread, TryCount

RANGE_MAX: Final = 92
"""Days that are merged at most."""

NEEDED: Final = frozenset({"hours", "histograms", "tries"})


def merge_range(*, user: User, pool: str, namespace: str, queue: str = ALL_QUEUES, until: date, days: int) -> Merged:
    """The last `days` days up to and with `until` (at most RANGE_MAX) of a queue or a namespace, as one.

    Raises NamespaceNotFoundError for what `user` may not see, MetadataUnavailableError.
    """
    begin = until - timedelta(days=min(max(days, 1), RANGE_MAX) - 1)
    found = _read(rows_of(user, pool, namespace, queue).filter(day_id__gte=begin, day_id__lte=until).order_by("day_id"))
    backlog = found[-1].backlog if found and found[-1].day_id == until else None
    return _merge(found, begin, until, backlog)


def merge_day(*, user: User, day: date) -> Merged:
    """All namespaces that `user` may see, at most NAMESPACES_MAX, as one. Raises MetadataUnavailableError."""
    rows = visible_rows(user).filter(day_id=day, queue=ALL_QUEUES).order_by("pool", "namespace")
    found = _read(rows[:NAMESPACES_MAX])
    return _merge(found, day, day, _sum_if_known([row.backlog for row in found]))


def _read(rows: QuerySet[QueueDay]) -> list[QueueDay]:
    rows = rows.defer(*(name for name in JSON_FIELDS if name not in NEEDED))
    return read_metadata(lambda: list(rows))


def _merge(rows: Sequence[QueueDay], begin: date, end: date, backlog: int | None) -> Merged:
    reported = reported_days(begin, end)
    every = [begin + timedelta(days=count) for count in range((end - begin).days + 1)]
    kept = [histograms_of(row.histograms) for row in rows]
    histograms = {metric: merge(one[metric] for one in kept) for metric in Metric}
    parts = [row_of(row).figures for row in rows]
    return Merged(
        begin=begin,
        end=end,
        days=tuple(day for day in every if day in reported),
        missing=tuple(day for day in every if day not in reported),
        figures=_sum(parts, histograms, hour=None, backlog=backlog),
        hours=_hours([hours_of(row) for row in rows], is_one_day=begin == end),
        histograms=histograms,
        tries=_tries(tries_of(row.tries) for row in rows),
    )


def _sum(
    parts: Sequence[Figures],
    histograms: Mapping[Metric, Mapping[int, int]],
    *,
    hour: int | None,
    backlog: int | None,
) -> Figures:
    counts: dict[str, Any] = {name: sum(getattr(part, name) for part in parts) for name in COUNTS}
    spreads: dict[str, Any] = {
        metric.value: _spread([part.spread(metric) for part in parts], histograms.get(metric, {})) for metric in Metric
    }
    return Figures(
        hour=hour,
        **counts,
        **spreads,
        success_rate=success_rate_of(counts),
        backlog=backlog,
        backlog_base_known=backlog is not None and all(part.backlog_base_known for part in parts),
        first_at=min((part.first_at for part in parts if part.first_at), default=None),
        last_at=max((part.last_at for part in parts if part.last_at), default=None),
    )


def _spread(parts: Sequence[Spread], histogram: Mapping[int, int]) -> Spread:
    """Without a histogram (hours have none) there are no percentiles, unless there is one part only."""
    measured = [part for part in parts if part.count]
    if len(measured) <= 1:
        return measured[0] if measured else Spread()
    count = sum(part.count for part in measured)
    greatest = max(part.max or 0 for part in measured)
    percentiles: dict[str, Any] = {name: quantile(histogram, share) for name, share in QUANTILES.items()}
    return Spread(
        count=count,
        mean=sum((part.mean or 0.0) * part.count for part in measured) / count,
        max=greatest,
        is_exact=False,
        **{name: None if value is None else min(value, greatest) for name, value in percentiles.items()},
    )


def _hours(rows: Sequence[Sequence[Figures]], *, is_one_day: bool) -> tuple[Figures, ...]:
    """Hour by hour of the day. A backlog is of a moment, so it is told of one day only."""
    by_hour: dict[int, list[Figures]] = {}
    for hours in rows:
        for figures in hours:
            by_hour.setdefault(figures.hour or 0, []).append(figures)
    merged = []
    for hour in sorted(by_hour):
        backlogs = [figures.backlog for figures in by_hour[hour]]
        backlog = _sum_if_known(backlogs) if is_one_day and len(backlogs) == len(rows) else None
        merged.append(_sum(by_hour[hour], {}, hour=hour, backlog=backlog))
    return tuple(merged)


def _tries(rows: Iterable[Iterable[TryCount]]) -> tuple[TryCount, ...]:
    jobs: dict[tuple[int, str], int] = {}
    for row in rows:
        for one in row:
            jobs[one.attempt, one.outcome] = jobs.get((one.attempt, one.outcome), 0) + one.jobs
    return tuple(TryCount(attempt=key[0], outcome=key[1], jobs=jobs[key]) for key in sorted(jobs))


def _sum_if_known(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None
