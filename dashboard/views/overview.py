"""What is wrong, at a glance; charts of all that the person may see; and the sums that stand on every page."""

from __future__ import annotations

import time

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path

from dashboard.chart_range import RANGES, ChartRange, read_range
from dashboard.live_charts import CHARTS, charts_of_pools
from queues.engine.stats.minutes import MINUTE_MS
from queues.services.chart_events import read_chart_events
from queues.services.overview import read_overview
from queues.services.queues.outages import read_outages
from queues.services.queues.visible_queues import visible_pools
from queues.services.reporting.reading.days import read_latest_report

from .decorators import is_live, keep_last_numbers, page


@page
def overview(request: HttpRequest) -> HttpResponse:
    """`?range=` or `?from=&to=`: the time that the charts show; for live.js the part that changes."""
    found = read_overview(user=request.user)
    keep_last_numbers(request, found.visible)
    context = {
        "overview": found,
        "report": read_latest_report(user=request.user),
        "range": _range(request),
        "ranges": [(key, name) for key, (_minutes, name) in RANGES.items()],
        "charts": CHARTS,
    }
    return render(request, f"dashboard/{'_overview' if is_live(request) else 'overview'}.html", context)


@page
def overview_charts(request: HttpRequest) -> HttpResponse:
    """All of CHARTS over all that the person may see, for charts.js, in one answer, which is of a bounded size."""
    shown = _range(request)
    visible = visible_pools(user=request.user)
    keep_last_numbers(request, visible)
    found = read_chart_events(user=request.user, from_ms=shown.from_ms, to_ms=shown.to_ms + MINUTE_MS)
    return JsonResponse(charts_of_pools(visible, shown, found))


@page
def totals(request: HttpRequest) -> HttpResponse:
    """The sums that stand on every page, for live.js."""
    visible = visible_pools(user=request.user)
    keep_last_numbers(request, visible)
    return render(request, "dashboard/_totals_now.html", {"strip": visible})


@page
def answering(request: HttpRequest) -> HttpResponse:
    """204 while all pools of the person answer, else what to say of those that do not; for answering.js."""
    outages = read_outages(user=request.user)
    if not outages.away:
        return HttpResponse(status=204)
    return render(request, "dashboard/_away.html", {"outages": outages})


def _range(request: HttpRequest) -> ChartRange:
    return read_range(request, now_ms=int(time.time() * 1_000))


urlpatterns = [
    path("", overview, name="overview"),
    path("overview/charts", overview_charts, name="overview_charts"),
    path("totals", totals, name="totals"),
    path("answering", answering, name="answering"),
]
