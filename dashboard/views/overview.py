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

from dashboard.series import Meaning, meant_series
from queues.engine.stats.minutes import Minute
from queues.engine.values import JobState
from queues.services.overview import read_overview
from queues.services.queues.chart_data import history_of_pools, running_minute
from queues.services.queues.visible_queues import visible_pools
from queues.services.reporting.reading.days import read_latest_report

from .decorators import is_live, page

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


CHARTS: Final[Mapping[str, tuple[Promise, str, tuple[tuple[Meaning, Value], ...]]]] = {
    "throughput": (
        gettext_lazy("Throughput"),
        "jobs/min",
        (
            (Meaning.PUBLISHED, _counted("published")),
            (Meaning.CONSUMED, _counted("consumed")),
            (Meaning.ACKED, _counted("acked")),
            (Meaning.FAILED, _counted("failed")),
        ),
    ),
    "backlog": (
        gettext_lazy("Jobs by state"),
        "jobs",
        (
            (Meaning.READY, _jobs(JobState.READY)),
            (Meaning.DELAYED, _jobs(JobState.DELAYED)),
            (Meaning.RETRY, _jobs(JobState.RETRY)),
            (Meaning.WORKING, _jobs(JobState.WORKING)),
            (Meaning.DEAD, _jobs(JobState.DEAD)),
        ),
    ),
}
"""Title, unit and lines of each chart."""


@page
def overview(request: HttpRequest) -> HttpResponse:
    """`?minutes=` how much the charts show; for live.js the part that changes."""
    context = {
        "overview": read_overview(user=request.user),
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
            meant_series(meaning, [value(minute) for minute in minutes], style="line") for meaning, value in lines
        ],
        "empty": _("Redis does not answer") if visible.away else _("Nothing was recorded in this time."),
    }
    return JsonResponse(data)


@page
def totals(request: HttpRequest) -> HttpResponse:
    """The sums that stand on every page, for live.js."""
    return render(request, "dashboard/_totals_now.html", {"strip": visible_pools(user=request.user)})


def _span(request: HttpRequest) -> int:
    text = request.GET.get("minutes", "")
    return next((minutes for minutes, _name in SPANS if str(minutes) == text), SPAN)


urlpatterns = [
    path("", overview, name="overview"),
    path("overview/charts/<str:kind>", overview_chart, name="overview_chart"),
    path("totals", totals, name="totals"),
]
