"""The tables of a report as rows of cells, for downloads. Times in ms and UTC, shares 0 to 1; unknown is empty."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime, timedelta
from typing import Any, Final

from queues.services.permissions import User
from queues.services.reporting.figures import beside_day
from queues.services.reporting.merging import list_objectives, merge_day, notes_of, read_namespaces, read_sums
from queues.services.reporting.reading import list_namespaces, read_queue, read_series
from queues.services.reporting.values import Figures, Metric, QueueReport, QueueRow, Spread, TryCount

from .contents import DAYS, hours_and_figures
from .places import Place

Row = Sequence[Any]

_PLAIN: Final = [field.name for field in fields(Figures) if field.name not in {*Metric, "hour", "backlog_base_known"}]
_PARTS: Final = [part.name for part in fields(Spread)]
_MEASURED: Final = [(metric.value, part) for metric in Metric for part in _PARTS]
_HEAD: Final = (*_PLAIN, *(f"{metric}_{part}".replace("is_", "") for metric, part in _MEASURED))
_NAMES: Final = ("pool", "namespace", "queue")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which report, by whom it is asked for, and the day beside it."""

    user: User
    day: date
    place: Place
    other: date | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """`rows` raise NamespaceNotFoundError and MetadataUnavailableError."""

    head: Sequence[str]
    rows: Callable[[Wanted], Iterable[Row]]


def _namespaces(wanted: Wanted) -> Iterator[Row]:
    for row in list_namespaces(user=wanted.user, day=wanted.day):
        yield (row.day, row.pool, row.namespace, *_cells(row.figures), row.flagged)


def _hours(wanted: Wanted) -> Iterator[Row]:
    hours, _figures = hours_and_figures(user=wanted.user, day=wanted.day, place=wanted.place)
    for one in hours:
        yield (wanted.day, one.hour, *_cells(one))


def _times(wanted: Wanted) -> Iterator[Row]:
    _hours, figures = hours_and_figures(user=wanted.user, day=wanted.day, place=wanted.place)
    for metric in Metric:
        spread = (figures or Figures()).spread(metric)
        yield (metric.value, *(getattr(spread, part) for part in _PARTS))


def _days(wanted: Wanted) -> Iterator[Row]:
    days = [wanted.day - timedelta(days=back) for back in reversed(range(DAYS))]
    if not wanted.place.namespace:
        sums = read_sums(user=wanted.user, days=days)
        yield from ((day, *_cells(sums[day])) for day in days if day in sums)
        return
    for one in read_series(user=wanted.user, until=wanted.day, days=DAYS, **_names(wanted.place)):
        if one.row is not None:
            yield (one.day, *_cells(one.row.figures))


def _errors(wanted: Wanted) -> Iterator[Row]:
    for one in notes_of(_reports(wanted)).errors:
        error = one.what
        names = (one.pool, one.namespace, error.queue)
        yield (*names, error.pattern, error.failed, error.dead, error.first_at, error.last_at, error.job)


def _slowest(wanted: Wanted) -> Iterator[Row]:
    for metric, found in notes_of(_reports(wanted)).slowest.items():
        for rank, one in enumerate(found, start=1):
            job = one.what
            names = (one.pool, one.namespace, job.queue)
            yield (metric.value, rank, *names, job.job, job.attempt, job.ms, job.at, job.worker)


def _changes(wanted: Wanted) -> Iterator[Row]:
    for one in notes_of(_reports(wanted)).changes:
        change = one.what
        names = (one.pool, one.namespace, change.queue)
        yield (*names, change.figure, change.value, change.usual, change.spread, change.weeks)


def _tries(wanted: Wanted) -> Iterator[Row]:
    found: Iterable[TryCount] = ()
    if wanted.place.namespace:
        found = (one for report in _reports(wanted) for one in report.tries)
    else:
        found = merge_day(user=wanted.user, day=wanted.day).tries
    yield from ((one.attempt, one.outcome, one.jobs) for one in found)


def _objectives(wanted: Wanted) -> Iterator[Row]:
    place = wanted.place
    rows: Iterable[QueueRow]
    if place.queue:
        rows = (report.row for report in _reports(wanted))
    else:
        found = list_objectives(user=wanted.user, day=wanted.day, pool=place.pool, namespace=place.namespace)
        rows = found.rows
    for row in rows:
        if row.objective is not None:
            judged = (row.objective.seconds, row.objective.is_met, row.objective.share)
            yield (row.pool, row.namespace, row.queue, *judged, row.figures.wait.count, row.figures.wait.p95)


def _figures(wanted: Wanted) -> Iterator[Row]:
    _hours, figures = hours_and_figures(user=wanted.user, day=wanted.day, place=wanted.place)
    other = None
    if wanted.other:
        _hours, other = hours_and_figures(user=wanted.user, day=wanted.other, place=wanted.place)
    for one in beside_day(figures or Figures(), other):
        yield (one.figure.key, one.figure.unit, one.value, one.against)


SHEETS: Final[Mapping[str, Sheet]] = {
    "namespaces": Sheet(head=("day", "pool", "namespace", *_HEAD, "flagged"), rows=_namespaces),
    "hours": Sheet(head=("day", "hour", *_HEAD), rows=_hours),
    "times": Sheet(head=("metric", *(part.replace("is_", "") for part in _PARTS)), rows=_times),
    "days": Sheet(head=("day", *_HEAD), rows=_days),
    "errors": Sheet(head=(*_NAMES, "error", "failed", "dead", "first_at", "last_at", "job"), rows=_errors),
    "slowest": Sheet(head=("metric", "rank", *_NAMES, "job", "attempt", "ms", "at", "worker"), rows=_slowest),
    "changes": Sheet(head=(*_NAMES, "figure", "value", "usual", "spread", "weeks"), rows=_changes),
    "tries": Sheet(head=("attempt", "outcome", "jobs"), rows=_tries),
    "objectives": Sheet(
        head=(*_NAMES, "objective_s", "objective_met", "objective_share", "handed_out", "wait_p95"), rows=_objectives
    ),
    "figures": Sheet(head=("figure", "unit", "value", "other"), rows=_figures),
}
"""All but the table of queues. Titles of columns are names of figures, as in docs/reports.md, whatever the language."""


def _reports(wanted: Wanted) -> Sequence[QueueReport]:
    if not wanted.place.namespace:
        return read_namespaces(user=wanted.user, day=wanted.day)
    report = read_queue(user=wanted.user, day=wanted.day, **_names(wanted.place))
    return [report] if report else []


def _cells(figures: Figures) -> Iterator[Any]:
    for name in _PLAIN:
        yield getattr(figures, name)
    for metric, part in _MEASURED:
        yield getattr(getattr(figures, metric), part)


def _names(place: Place) -> dict[str, Any]:
    return {"pool": place.pool, "namespace": place.namespace, "queue": place.queue}


def plain(value: Any) -> Any:
    """A cell as CSV has it. An apostrophe keeps spreadsheets from taking a stranger's text for a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value
