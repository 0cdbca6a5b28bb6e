"""What the coming 14 days will ask for: jobs and seconds a day, consumers in the busiest hour, memory of backlogs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import ceil
from statistics import median
from typing import Any, Final

from django.db.models import QuerySet, Sum

from queues.models import QueueDay, ReportDay
from queues.models.report import ALL_QUEUES
from queues.pools.database import read_metadata

from ...permissions import User, check_visible
from ..reading.day_reports import days_that_lack_events, has_demo_days, visible_rows
from .theta_method import HORIZON, Backtest, Interval, Known, backtest, forecast

HISTORY_DAYS: Final = 84
"""What forecasts are made of: 12 weeks, as far as there are reports."""

RECENT_DAYS: Final = 14
"""Whose hours tell the share of the busiest one, and whose bodies tell their size."""

LISTED: Final = 20
"""Namespaces, or queues of a namespace, of one list: those with the most jobs in RECENT_DAYS."""

RECORD_BYTES: Final = 220
"""What Redis takes for a delayed job besides its body (docs/redis-layout.md, Memory)."""

HOUR_S: Final = 3_600

Key = tuple[str, str, str]
"""Pool, namespace, queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A quantity of consecutive days: as it was, None where it is not known, and as it is expected to go on.

    `ahead` (): not enough history. `error`: of past forecasts; None: not enough history for one.
    """

    past: tuple[Known, ...]
    ahead: tuple[Interval, ...]
    error: Backtest | None

    @classmethod
    def of(cls, past: Sequence[Known]) -> Expected:
        return cls(past=tuple(past), ahead=tuple(forecast(past) or ()), error=backtest(past))

    @property
    def busiest(self) -> tuple[int, Interval] | None:
        """The day ahead, from 0, of which the most is expected."""
        return max(enumerate(self.ahead), key=lambda one: one[1].expected) if self.ahead else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Of a queue or a namespace (`queue` ""). `days`: those of the past, then HORIZON coming ones. `known`: past days
    that are known; it takes LEAST_DAYS.

    `jobs`: published. `run_s`: seconds that acked deliveries ran. `peak_share`: part of a day's seconds that its
    busiest hour has, the median of recent days. `backlog`: the most jobs that were there at the end of an hour, and
    `bytes_per_job`, if they were asked for.
    """

    pool: str
    namespace: str
    queue: str
    days: tuple[date, ...]
    known: int
    jobs: Expected
    run_s: Expected
    peak_share: float | None
    backlog: Expected | None = None
    bytes_per_job: float | None = None
    has_demo: bool = False

    @property
    def is_made(self) -> bool:
        return bool(self.jobs.ahead)

    @property
    def days_ahead(self) -> tuple[date, ...]:
        return self.days[len(self.jobs.past) :]

    @property
    def jobs_now(self) -> int | None:
        """The mean of the last seven days, rounded."""
        known = [value for value in self.jobs.past[-7:] if value is not None]
        return round(sum(known) / len(known)) if known else None

    @property
    def consumers(self) -> tuple[Interval, ...]:
        """Jobs that run at a time in the busiest hour of each day ahead, rounded up: so many consumers if each is busy
        all the time. () if it is not known."""
        share = self.peak_share
        if share is None:
            return ()
        return tuple(_rounded_up(one.times(share / HOUR_S)) for one in self.run_s.ahead)

    @property
    def memory(self) -> tuple[Interval, ...]:
        """Bytes of Redis that the greatest backlog of each day ahead takes; () if it was not asked for or not known."""
        if self.backlog is None or self.bytes_per_job is None:
            return ()
        return tuple(one.times(self.bytes_per_job) for one in self.backlog.ahead)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Days up to the last one that is over and has a report. `known`: those whose counts can be relied on."""

    days: tuple[date, ...]
    known: frozenset[date]
    has_demo: bool = False

    @property
    def recent(self) -> list[date]:
        return [day for day in self.days if day in self.known][-RECENT_DAYS:]


def list_forecasts(*, user: User, pool: str = "", namespace: str = "") -> tuple[Forecast, ...]:
    """Of the namespaces that `user` may see, or of the queues of one: the LISTED busiest; without backlogs.

    Raises NamespaceNotFoundError, MetadataUnavailableError.
    """
    rows = visible_rows(user)
    if namespace:
        check_visible(user=user, pool=pool, namespace=namespace)
        rows = rows.filter(pool=pool, namespace=namespace).exclude(queue=ALL_QUEUES)
    else:
        rows = rows.filter(queue=ALL_QUEUES)
    history = _history()
    recent = rows.filter(day_id__in=history.recent).order_by()
    busiest = recent.values("pool", "namespace", "queue").annotate(jobs=Sum("published")).order_by("-jobs")
    keys = read_metadata(lambda: list(busiest.values_list("pool", "namespace", "queue")[:LISTED]))
    values = _read_values(rows, history, keys)
    hours = _read_hours(rows, history.recent, keys)
    return tuple(_forecast(key, history, values[key], hours[key], with_backlog=False) for key in keys)


def read_forecast(*, user: User, pool: str, namespace: str, queue: str = ALL_QUEUES) -> Forecast | None:
    """Of a queue or a namespace; None: no report of the HISTORY_DAYS has anything of it.

    Raises NamespaceNotFoundError, MetadataUnavailableError.
    """
    check_visible(user=user, pool=pool, namespace=namespace)
    rows, history, key = visible_rows(user), _history(), (pool, namespace, queue)
    values = _read_values(rows, history, [key])[key]
    if not values:
        return None
    return _forecast(key, history, values, _read_hours(rows, history.days, [key])[key], with_backlog=True)


def _history() -> History:
    """Raises MetadataUnavailableError."""
    reported = ReportDay.objects.exclude(reported_at=None).filter(complete=True)
    newest = read_metadata(reported.order_by("-date").values_list("date", flat=True).first)
    if newest is None:
        return History(days=(), known=frozenset())
    begin = newest - timedelta(days=HISTORY_DAYS - 1)
    known = read_metadata(lambda: list(reported.filter(date__range=(begin, newest)).values_list("date", flat=True)))
    return History(
        days=tuple(begin + timedelta(days=number) for number in range(HISTORY_DAYS)),
        known=frozenset(known) - days_that_lack_events(begin, newest),
        has_demo=has_demo_days(begin, newest),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Day:
    jobs: int
    bytes: int
    run_s: float


def _read_values(rows: QuerySet[QueueDay], history: History, keys: Iterable[Key]) -> Mapping[Key, dict[date, _Day]]:
    columns = ("day_id", "published", "bytes", "run_mean", "run_count")
    found: dict[Key, dict[date, _Day]] = defaultdict(dict)
    for key, (day, jobs, size, mean, count) in _read(rows, history.days, keys, columns):
        found[key][day] = _Day(jobs=jobs, bytes=size, run_s=(mean or 0.0) * count / 1_000)
    return found


def _read_hours(
    rows: QuerySet[QueueDay], days: Sequence[date], keys: Iterable[Key]
) -> Mapping[Key, dict[date, list[dict[str, Any]]]]:
    found: dict[Key, dict[date, list[dict[str, Any]]]] = defaultdict(dict)
    for key, (day, hours) in _read(rows, days, keys, ("day_id", "hours")):
        found[key][day] = hours
    return found


def _read(
    rows: QuerySet[QueueDay], days: Sequence[date], keys: Iterable[Key], columns: tuple[str, ...]
) -> list[tuple[Key, tuple[Any, ...]]]:
    wanted = set(keys)
    if not wanted or not days:
        return []
    rows = rows.filter(
        day_id__gte=days[0],
        day_id__lte=days[-1],
        namespace__in={namespace for _pool, namespace, _queue in wanted},
        queue__in={queue for _pool, _namespace, queue in wanted},
    )
    read = rows.order_by().values_list("pool", "namespace", "queue", *columns)
    found = (((row[0], row[1], row[2]), row[3:]) for row in read_metadata(lambda: list(read)))
    return [(key, values) for key, values in found if key in wanted]


def _forecast(
    key: Key,
    history: History,
    values: Mapping[date, _Day],
    hours: Mapping[date, list[dict[str, Any]]],
    *,
    with_backlog: bool,
) -> Forecast:
    """A day of which the report says nothing is a day without jobs, but before the first one it was not there yet."""
    days = [day for day in history.days if values and day >= min(values)]
    nothing = _Day(jobs=0, bytes=0, run_s=0.0)
    past = [values.get(day, nothing) if day in history.known else None for day in days]
    ahead = [history.days[-1] + timedelta(days=number) for number in range(1, HORIZON + 1)]
    recent = [values[day] for day in history.recent if day in values]
    jobs = sum(one.jobs for one in recent)
    backlogs = [_greatest_backlog(hours.get(day)) if day in history.known else None for day in days]
    return Forecast(
        pool=key[0],
        namespace=key[1],
        queue=key[2],
        days=(*days, *ahead),
        known=sum(one is not None for one in past),
        jobs=Expected.of([None if one is None else float(one.jobs) for one in past]),
        run_s=Expected.of([None if one is None else one.run_s for one in past]),
        peak_share=_peak_share(hours[day] for day in history.recent if day in hours),
        backlog=Expected.of(backlogs) if with_backlog else None,
        has_demo=history.has_demo,
        bytes_per_job=sum(one.bytes for one in recent) / jobs + RECORD_BYTES if jobs and with_backlog else None,
    )


def _peak_share(days: Iterable[list[dict[str, Any]]]) -> float | None:
    shares = []
    for hours in days:
        seconds = [(hour.get("run_mean") or 0.0) * (hour.get("run_count") or 0) for hour in hours]
        if sum(seconds) > 0:
            shares.append(max(seconds) / sum(seconds))
    return median(shares) if shares else None


def _greatest_backlog(hours: Sequence[Mapping[str, Any]] | None) -> Known:
    """None: not known in any hour. A queue without a row has no jobs."""
    if hours is None:
        return 0.0
    known = [hour["backlog"] for hour in hours if hour.get("backlog") is not None]
    return float(max(known)) if known else None


def _rounded_up(one: Interval) -> Interval:
    """But for what arithmetic is off: 3.0000000001 is 3."""
    low, expected, high = (float(ceil(round(value, 6))) for value in (one.low, one.expected, one.high))
    return Interval(low=low, expected=expected, high=high)
