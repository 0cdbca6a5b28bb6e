"""What is wrong, at a glance; and the sums that stand on every page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from queues.engine.stats.minutes import Minute
from queues.engine.values import JobState
from queues.services.overview import read_overview
from queues.services.queues.chart_data import history_of_pools, running_minute
from queues.services.queues.outages import read_outages
from queues.services.queues.visible_queues import visible_pools
from queues.services.reporting.reading.days import read_latest_report

from .decorators import is_live, keep_last_numbers, page

SPANS: Final[tuple[tuple[int, Promise], ...]] = (
    (15, gettext_lazy("15 min")),
    (60, gettext_lazy("1 h")),
    (180, gettext_lazy("3 h")),
    (1440, gettext_lazy("24 h")),
)
"""Minutes that charts may show."""

SPAN: Final = 60
MINUTE_MS: Final = 60_000

Value = Callable[[Minute], int | None]


def _jobs(state: JobState) -> Value:
    return lambda minute: minute.jobs[state] if minute.recorded and minute.jobs is not None else None


def _counted(name: str) -> Value:
    return lambda minute: getattr(minute, name) if minute.recorded else None


CHARTS: Final[Mapping[str, tuple[Promise, str, tuple[tuple[Promise, Value], ...]]]] = {
    "throughput": (
        gettext_lazy("Throughput"),
        "jobs/min",
        (
            (gettext_lazy("published"), _counted("published")),
            (gettext_lazy("consumed"), _counted("consumed")),
            (gettext_lazy("acked"), _counted("acked")),
            (gettext_lazy("failed"), _counted("failed")),
        ),
    ),
    "backlog": (
        gettext_lazy("Jobs by state"),
        "jobs",
        (
            (gettext_lazy("ready"), _jobs(JobState.READY)),
            (gettext_lazy("delayed"), _jobs(JobState.DELAYED)),
            (gettext_lazy("retry"), _jobs(JobState.RETRY)),
            (gettext_lazy("working"), _jobs(JobState.WORKING)),
            (gettext_lazy("dead"), _jobs(JobState.DEAD)),
        ),
    ),
}
"""Title, unit and lines of each chart."""


@page
def overview(request: HttpRequest) -> HttpResponse:
    """`?minutes=` how much the charts show; for live.js the part that changes."""
    found = read_overview(user=request.user)
    keep_last_numbers(request, found.visible)
    context = {
        "overview": found,
        "report": read_latest_report(user=request.user),
        "span": _span(request),
        "spans": SPANS,
    }
    return render(request, f"dashboard/{'_overview' if is_live(request) else 'overview'}.html", context)


@page
def overview_chart(request: HttpRequest, kind: str) -> HttpResponse:
    """One of CHARTS over all that the person may see, for charts.js; the last value is of the running minute."""
    if kind not in CHARTS:
        raise Http404
    title, unit, lines = CHARTS[kind]
    visible = visible_pools(user=request.user)
    keep_last_numbers(request, visible)
    trend = history_of_pools(visible=visible, minutes=_span(request))
    minutes = list(trend.minutes)
    running = running_minute(visible)
    if running is not None and minutes:
        minutes = [minute for minute in minutes if minute.at_ms < running.at_ms] + [running]
    data: dict[str, Any] = {
        "title": str(title),
        "x": {"unit": "time", "values": [minute.at_ms + MINUTE_MS for minute in minutes]},
        "y": {"unit": unit},
        "series": [
            {"name": str(name), "values": [value(minute) for minute in minutes], "style": "line"}
            for name, value in lines
        ],
        "empty": _("Redis does not answer") if visible.away else _("Nothing was recorded in this time."),
    }
    return JsonResponse(data)


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


def _span(request: HttpRequest) -> int:
    text = request.GET.get("minutes", "")
    return next((minutes for minutes, _name in SPANS if str(minutes) == text), SPAN)


urlpatterns = [
    path("", overview, name="overview"),
    path("overview/charts/<str:kind>", overview_chart, name="overview_chart"),
    path("totals", totals, name="totals"),
    path("answering", answering, name="answering"),
]
