"""What namespaces used and what it costs, over a range of days: a page, CSV and JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from dashboard.views.decorators import page
from queues.services.reporting.planning.costs import (
    Prices,
    RangeUsage,
    ScopeUsage,
    prices,
    read_daily_usage,
    read_usage,
)
from queues.services.reporting.presenting.tables import csv_lines
from queues.services.reporting.reading.days import latest_day, today, yesterday

from . import charts
from .download import sent_csv
from .scopes import ReportScope, read_day, scope_in, url_of

DAYS: Final = 28
"""Of a range that is not given."""

SHOWN: Final = 100
"""Rows of the page; CSV and JSON have them all."""

DRAWN: Final = 5
"""Namespaces or queues of the chart, which has six colours: one is for all others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    begin: date
    end: date
    scope: ReportScope

    @property
    def query(self) -> dict[str, str]:
        return {"from": f"{self.begin}", "to": f"{self.end}", **self.scope.names}


@page
def cost(request: HttpRequest) -> HttpResponse:
    """`?from=&to=` days, both included; `pool`, `namespace`: of that one, with its queues."""
    asked = _read(request)
    names: Any = {"pool": asked.scope.pool, "namespace": asked.scope.namespace}
    span: Any = {"begin": asked.begin, "end": asked.end}
    usage = read_usage(user=request.user, **span, **names)
    drawn = usage.scopes[:DRAWN]
    daily = read_daily_usage(user=request.user, **span, **names, scopes=drawn) if drawn else []
    priced = prices()
    context = {
        "usage": usage,
        "scope": asked.scope,
        "rows": [_row(one, usage, priced, asked) for one in usage.scopes[:SHOWN]],
        "total": priced.cost_of(usage.total),
        "prices": priced,
        "chart": charts.run_time_by_day(usage, drawn, daily),
        "ranges": _ranges(asked),
        "csv_url": url_of("report_cost_csv", asked.query),
        "csv_by_day_url": url_of("report_cost_csv", asked.query | {"by": "day"}),
        "json_url": url_of("report_cost_json", asked.query),
        "parent_url": url_of(
            "report_cost", {key: value for key, value in asked.query.items() if key in ("from", "to")}
        ),
        "forecast_url": url_of("report_forecast", asked.scope.names),
    }
    return render(request, "dashboard/report_cost.html", context)


@page
def cost_csv(request: HttpRequest) -> HttpResponse:
    """The same; `?by=day`: a row for each day and namespace instead of each namespace, or queue of the one named."""
    asked = _read(request)
    usage, rows = _figures(request, asked)
    priced, lacking = prices(), set(usage.lacking)
    head = ("day", "from", "to", "pool", "namespace", "queue", "jobs", "bytes", "run_s", "cost", "currency", "at_least")
    lines = (
        (
            one.day or "",
            one.day or asked.begin,
            one.day or asked.end,
            *(one.pool, one.namespace, one.queue),
            *(one.usage.jobs, one.usage.bytes, one.usage.run_s),
            *(_plain(priced.cost_of(one.usage)), priced.currency),
            one.day in lacking if one.day else bool(lacking),
        )
        for one in rows
    )
    return sent_csv([csv_lines([head, *lines])], "-".join(["taskq-cost", *asked.query.values()]))


@page
def cost_json(request: HttpRequest) -> HttpResponse:
    """The same as an object; `?by=day` likewise."""
    asked = _read(request)
    usage, rows = _figures(request, asked)
    priced = prices()
    answer = {
        "from": asked.begin,
        "to": asked.end,
        "currency": priced.currency,
        "prices": {
            "run_second": _plain(priced.run_second),
            "million_jobs": _plain(priced.million_jobs),
            "gib": _plain(priced.gib),
        },
        "days_without_report": usage.missing,
        "days_at_least": usage.lacking,
        "has_demo": usage.has_demo,
        "total": _told(usage.total_scope, priced),
        "rows": [_told(one, priced) for one in rows],
    }
    return JsonResponse(answer)


def _figures(request: HttpRequest, asked: _Asked) -> tuple[RangeUsage, Iterable[ScopeUsage]]:
    names: Any = {"pool": asked.scope.pool, "namespace": asked.scope.namespace}
    span: Any = {"begin": asked.begin, "end": asked.end}
    usage = read_usage(user=request.user, **span, **names)
    if request.GET.get("by") != "day":
        return usage, usage.scopes
    return usage, read_daily_usage(user=request.user, **span, **names)


def _told(one: ScopeUsage, priced: Prices) -> dict[str, Any]:
    names = {"day": one.day} if one.day else {}
    names |= {key: value for key in ("pool", "namespace", "queue") if (value := getattr(one, key))}
    usage = one.usage
    figures = {"jobs": usage.jobs, "bytes": usage.bytes, "run_s": usage.run_s}
    return names | figures | {"cost": _plain(priced.cost_of(usage))}


def _plain(value: Decimal | None) -> float | None:
    """Rounded to what prices say at most: a millionth of a millionth."""
    return None if value is None else float(round(value, 12))


def _row(one: ScopeUsage, usage: RangeUsage, priced: Prices, asked: _Asked) -> dict[str, Any]:
    inner = ReportScope(pool=one.pool, namespace=one.namespace, queue=one.queue)
    url = inner.url(asked.end) if one.queue else url_of("report_cost", asked.query | inner.names)
    share = one.usage.run_ms / usage.total.run_ms if usage.total.run_ms else None
    return {"of": one, "url": url, "share": share, "cost": priced.cost_of(one.usage)}


def _ranges(asked: _Asked) -> list[tuple[str, str]]:
    """Addresses and kinds of ranges that are often wanted: the last 7 and 28 days, this month and the one before."""
    end = yesterday()
    month = today().replace(day=1)
    before = (month - timedelta(days=1)).replace(day=1)
    spans = [
        ("7", end - timedelta(days=6), end),
        ("28", end - timedelta(days=27), end),
        ("month", min(month, end), end),
        ("before", before, month - timedelta(days=1)),
    ]
    return [
        (url_of("report_cost", asked.query | {"from": f"{begin}", "to": f"{until}"}), name)
        for name, begin, until in spans
    ]


def _read(request: HttpRequest) -> _Asked:
    """Days that are none, or the wrong way round, give the last DAYS up to the latest report."""
    scope = scope_in(request.GET.dict())
    begin, end = (read_day(request.GET.get(name, "")) for name in ("from", "to"))
    if end is None:
        latest = latest_day(user=request.user)
        end = latest.day if latest else yesterday()
    if begin is None or begin > end:
        begin = end - timedelta(days=DAYS - 1)
    return _Asked(begin=begin, end=end, scope=ReportScope(pool=scope.pool, namespace=scope.namespace))
