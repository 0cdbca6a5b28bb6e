"""What the coming 14 days will ask for: a page of all namespaces, one of each namespace and queue; CSV and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from dashboard.views.decorators import page
from queues.services.permissions import User, check_visible
from queues.services.reporting.planning.forecasts import RECORD_BYTES, Expected, Forecast, list_forecasts, read_forecast
from queues.services.reporting.planning.theta_method import LEAST_DAYS, Interval
from queues.services.reporting.presenting.tables import csv_lines

from . import charts
from .download import sent_csv
from .scopes import ReportScope, scope_in, url_of

PARTS: Final = ("low", "expected", "high")
QUANTITIES: Final = ("jobs", "run_s", "consumers", "backlog", "memory_bytes")
ERRORS: Final = ("mape", "mase", "covered")


@page
def forecast(request: HttpRequest) -> HttpResponse:
    """`pool`, `namespace`, `queue`: of that one, with a namespace's queues; of none: of all namespaces."""
    scope = scope_in(request.GET.dict())
    one = _read_one(request.user, scope) if scope.namespace else None
    listed = () if scope.queue else list_forecasts(user=request.user, pool=scope.pool, namespace=scope.namespace)
    context = {
        "scope": scope,
        "one": one,
        "rows": [_row(found) for found in listed],
        "has_demo": any(found.has_demo for found in (*listed, *([one] if one else []))),
        "least_days": LEAST_DAYS,
        "record_bytes": RECORD_BYTES,
        "charts": _charts(one) if one and one.is_made else [],
        "table": _table(one) if one and one.is_made else [],
        "errors": _errors(one) if one and one.is_made else [],
        "csv_url": url_of("report_forecast_csv", scope.names),
        "json_url": url_of("report_forecast_json", scope.names),
        "everything_url": url_of("report_forecast", {}),
        "parent_url": url_of("report_forecast", scope.parent.names),
        "cost_url": url_of("report_cost", ReportScope(pool=scope.pool, namespace=scope.namespace).names),
    }
    return render(request, "dashboard/report_forecast.html", context)


@page
def forecast_csv(request: HttpRequest) -> HttpResponse:
    """A row for each day ahead of each namespace, or of the namespace or queue that is named."""
    scope = scope_in(request.GET.dict())
    head = ["day", "pool", "namespace", "queue", *(f"{name}_{part}" for name in QUANTITIES for part in PARTS)]
    head += [f"{name}_{error}" for name in ("jobs", "run_s") for error in ERRORS]
    lines = [
        [
            day,
            *(one.pool, one.namespace, one.queue),
            *(getattr(interval, part, "") for interval in _quantities(one, place).values() for part in PARTS),
            *(getattr(told.error, error, "") for told in (one.jobs, one.run_s) for error in ERRORS),
        ]
        for one in _read_all(request.user, scope)
        for place, day in enumerate(one.days_ahead if one.is_made else ())
    ]
    return sent_csv([csv_lines([head, *lines])], "-".join(["taskq-forecast", *scope.names.values()]))


@page
def forecast_json(request: HttpRequest) -> HttpResponse:
    """The same as an object, with what the forecast is made of. `error` says so where there is not enough history."""
    return JsonResponse({"forecasts": [_told(one) for one in _read_all(request.user, scope_in(request.GET.dict()))]})


def _read_one(user: User, scope: ReportScope) -> Forecast | None:
    return read_forecast(user=user, pool=scope.pool, namespace=scope.namespace, queue=scope.queue)


def _read_all(user: User, scope: ReportScope) -> Sequence[Forecast]:
    if not scope.namespace:
        return list_forecasts(user=user)
    check_visible(user=user, pool=scope.pool, namespace=scope.namespace)
    one = _read_one(user, scope)
    return [one] if one else []


def _quantities(one: Forecast, place: int) -> Mapping[str, Interval | None]:
    """Of the day ahead `place`; None: not known."""
    told: dict[str, Sequence[Interval]] = {
        "jobs": one.jobs.ahead,
        "run_s": one.run_s.ahead,
        "consumers": one.consumers,
        "backlog": one.backlog.ahead if one.backlog else (),
        "memory_bytes": one.memory,
    }
    return {name: values[place] if place < len(values) else None for name, values in told.items()}


def _told(one: Forecast) -> dict[str, Any]:
    names: dict[str, Any] = {"pool": one.pool, "namespace": one.namespace, "queue": one.queue}
    names |= {"days_known": one.known, "has_demo": one.has_demo}
    if not one.is_made:
        return names | {"error": f"not enough history: {one.known} of {LEAST_DAYS} days"}
    past = [
        {"day": day, "jobs": jobs, "run_s": run_s}
        for day, jobs, run_s in zip(one.days, one.jobs.past, one.run_s.past, strict=False)
    ]
    ahead = [
        {"day": day} | {name: _parts(interval) for name, interval in _quantities(one, place).items()}
        for place, day in enumerate(one.days_ahead)
    ]
    errors = {name: _backtest(told) for name, told in (("jobs", one.jobs), ("run_s", one.run_s))}
    return names | {"past": past, "ahead": ahead, "backtest": errors, "peak_share": one.peak_share}


def _parts(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else {part: getattr(interval, part) for part in PARTS}


def _backtest(told: Expected) -> dict[str, Any] | None:
    return None if told.error is None else {name: getattr(told.error, name) for name in ("weeks", "days", *ERRORS)}


def _row(one: Forecast) -> dict[str, Any]:
    """Of a list: the busiest day ahead, beside the last seven days."""
    scope = ReportScope(pool=one.pool, namespace=one.namespace, queue=one.queue)
    busiest = one.jobs.busiest
    place = busiest[0] if busiest else 0
    return {
        "of": one,
        "url": url_of("report_forecast", scope.names),
        "day": one.days_ahead[place] if busiest else None,
        **_quantities(one, place),
        "error": one.jobs.error,
    }


def _charts(one: Forecast) -> list[dict[str, Any]]:
    made = [
        charts.expected_by_day(_("Jobs published by day"), "jobs", one.days, one.jobs),
        charts.expected_by_day(_("Run time by day"), "ms", one.days, one.run_s, factor=1_000),
    ]
    if one.backlog and one.backlog.ahead:
        made.append(charts.expected_by_day(_("Greatest backlog of each day"), "jobs", one.days, one.backlog))
    return made


def _table(one: Forecast) -> list[dict[str, Any]]:
    return [{"day": day, **_quantities(one, place)} for place, day in enumerate(one.days_ahead)]


def _errors(one: Forecast) -> list[tuple[str, Any]]:
    told = [(_("Jobs"), one.jobs.error), (_("Run time"), one.run_s.error)]
    return [*told, *([(_("Backlog"), one.backlog.error)] if one.backlog and one.backlog.ahead else [])]
