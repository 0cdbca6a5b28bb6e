"""Every table of a report as CSV. `queues.services.reporting` describes the columns; the rows are read here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse

from dashboard.views.decorators import page
from queues.services.permissions import User, check_visible
from queues.services.reporting.presenting.figures import KeyFigure, beside_day, times_of
from queues.services.reporting.presenting.queue_list import queues_as_csv
from queues.services.reporting.presenting.tables import TABLES, DayFigures, MeasuredTime, Ranked, as_csv
from queues.services.reporting.reading.day_reports import (
    days_that_lack_events,
    list_namespaces,
    read_queue,
    read_series,
)
from queues.services.reporting.reading.days import find_day
from queues.services.reporting.reading.merging import (
    Noted,
    list_objectives,
    merge_day,
    notes_of,
    read_namespaces,
    read_sums,
)
from queues.services.reporting.values import Change, ErrorGroup, Figures, PoolEvents, QueueReport, QueueRow, TryCount

from .contents import DAYS, hours_and_figures
from .queue_table import read_filter
from .scopes import ReportScope, check_begun, read_day, scope_in, scope_zones


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which report, by whom it is asked for, and the day beside it."""

    user: User
    day: date
    scope: ReportScope
    other: date | None


def _namespaces(wanted: Wanted) -> Sequence[QueueRow]:
    return list_namespaces(user=wanted.user, day=wanted.day)


def _hours(wanted: Wanted) -> Iterator[DayFigures]:
    hours, _figures = hours_and_figures(user=wanted.user, day=wanted.day, scope=wanted.scope)
    return (DayFigures(wanted.day, one) for one in hours)


def _times(wanted: Wanted) -> Sequence[MeasuredTime]:
    _hours, figures = hours_and_figures(user=wanted.user, day=wanted.day, scope=wanted.scope)
    return times_of(figures or Figures())


def _days(wanted: Wanted) -> Iterator[DayFigures]:
    if not wanted.scope.namespace:
        days = [wanted.day - timedelta(days=back) for back in reversed(range(DAYS))]
        sums = read_sums(user=wanted.user, days=days)
        return (DayFigures(day, sums[day]) for day in days if day in sums)
    series = read_series(user=wanted.user, until=wanted.day, days=DAYS, **_names(wanted.scope))
    return (DayFigures(one.day, one.row.figures) for one in series if one.row is not None)


def _errors(wanted: Wanted) -> Sequence[Noted[ErrorGroup]]:
    return notes_of(_reports(wanted)).errors


def _slowest(wanted: Wanted) -> Iterator[Ranked]:
    for found in notes_of(_reports(wanted)).slowest.values():
        yield from (Ranked(rank, one) for rank, one in enumerate(found, start=1))


def _changes(wanted: Wanted) -> Sequence[Noted[Change]]:
    return notes_of(_reports(wanted)).changes


def _tries(wanted: Wanted) -> Iterable[TryCount]:
    if wanted.scope.namespace:
        return (one for report in _reports(wanted) for one in report.tries)
    return merge_day(user=wanted.user, day=wanted.day).tries


def _objectives(wanted: Wanted) -> Iterable[QueueRow]:
    scope = wanted.scope
    if scope.queue:
        return (report.row for report in _reports(wanted) if report.row.objective is not None)
    return list_objectives(user=wanted.user, day=wanted.day, pool=scope.pool, namespace=scope.namespace).rows


def _figures(wanted: Wanted) -> Sequence[KeyFigure]:
    _hours, figures = hours_and_figures(user=wanted.user, day=wanted.day, scope=wanted.scope)
    other = None
    if wanted.other:
        _hours, other = hours_and_figures(user=wanted.user, day=wanted.other, scope=wanted.scope)
    return beside_day(figures or Figures(), other)


def _reconciliation(wanted: Wanted) -> Sequence[PoolEvents]:
    """For superusers; others get no rows."""
    return find_day(user=wanted.user, day=wanted.day).reconciliation


ROWS: Final[Mapping[str, Callable[[Wanted], Iterable[Any]]]] = {
    "namespaces": _namespaces,
    "hours": _hours,
    "times": _times,
    "days": _days,
    "errors": _errors,
    "slowest": _slowest,
    "changes": _changes,
    "tries": _tries,
    "objectives": _objectives,
    "figures": _figures,
    "reconciliation": _reconciliation,
}
"""Of all tables but that of queues. They raise NamespaceNotFoundError and MetadataUnavailableError."""


def _reports(wanted: Wanted) -> Sequence[QueueReport]:
    if not wanted.scope.namespace:
        return read_namespaces(user=wanted.user, day=wanted.day)
    report = read_queue(user=wanted.user, day=wanted.day, **_names(wanted.scope))
    return [report] if report else []


def _names(scope: ReportScope) -> dict[str, Any]:
    return {"pool": scope.pool, "namespace": scope.namespace, "queue": scope.queue}


@page
def report_csv(request: HttpRequest, day: date) -> HttpResponse:
    """`?table=` one of ROWS, or `queues`; `pool`, `namespace`, `queue`; of `queues` also `q`, `only` and `sort`."""
    name = request.GET.get("table", "queues")
    scope = scope_in(request.GET.dict())
    if scope.namespace:
        check_visible(user=request.user, pool=scope.pool, namespace=scope.namespace)
    check_begun(day, scope)
    if name == "queues":
        pieces = queues_as_csv(user=request.user, day=day, chosen=read_filter(request, scope))
        return _sent(pieces, day, scope, name)
    if name not in ROWS:
        raise Http404
    other = read_day(request.GET.get("with", ""))
    wanted = Wanted(user=request.user, day=day, scope=scope, other=other)
    zones = scope_zones(scope, (day - timedelta(days=back) for back in range(DAYS + 1)))
    lacking = days_that_lack_events(day - timedelta(days=DAYS), day, zones)
    lacks_events = (lambda row: row.day in lacking) if name == "days" else (lambda _row: day in lacking)
    rows = ROWS[name](wanted)
    text = as_csv(TABLES[name], rows, lacks_events=lacks_events, time_zone=zones.get(day, ""))
    return _sent([text], day, scope, name)


def _sent(pieces: Iterable[str], day: date, scope: ReportScope, table: str) -> HttpResponse:
    return sent_csv(pieces, "-".join(["taskq", f"{day}", *scope.names.values(), table]))


def sent_csv(pieces: Iterable[str], name: str) -> HttpResponse:
    """CSV that a browser saves under this name."""
    response = HttpResponse("".join(pieces), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response
