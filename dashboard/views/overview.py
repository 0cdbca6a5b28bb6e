"""What is wrong, at a glance; charts of all that the person may see; and the sums that stand on every page."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from dashboard.chart_range import RANGES, ChartRange, read_range
from dashboard.formatting import brief_duration
from dashboard.series import Meaning, meant_series
from queues.engine.stats.minutes import MINUTE_MS, Minute
from queues.engine.values import JobState
from queues.services.chart_events import ChartEvent, EventKind, read_chart_events
from queues.services.overview import read_overview
from queues.services.queues.chart_data import history_of_pools, running_minute
from queues.services.queues.objective_lines import ObjectiveLine, read_objective_lines
from queues.services.queues.outages import read_outages
from queues.services.queues.visible_queues import VisiblePools, visible_pools
from queues.services.reporting.reading.days import read_latest_report

from .decorators import is_live, keep_last_numbers, page

Value = Callable[[Minute], float | None]


def _jobs(state: JobState) -> Value:
    return lambda minute: minute.jobs[state] if minute.recorded and minute.jobs is not None else None


def _counted(name: str) -> Value:
    """Of a minute; of five the mean."""

    def value(minute: Minute) -> float | None:
        if not minute.recorded:
            return None
        count: int = getattr(minute, name)
        return count if minute.minutes == 1 else round(count / minute.minutes, 1)

    return value


def _percentiles(name: str) -> tuple[tuple[Meaning, Value], ...]:
    def at(place: int) -> Value:
        return lambda minute: getattr(minute, name)[place]

    return ((Meaning.P50, at(0)), (Meaning.P95, at(1)), (Meaning.P99, at(2)))


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
    "wait": (gettext_lazy("Wait: due → delivered"), "ms", _percentiles("wait_ms")),
    "run": (gettext_lazy("Run: delivered → acked"), "ms", _percentiles("run_ms")),
}
"""Title, unit and lines of each chart."""


def minute_chart(kind: str, minutes: Sequence[Minute], *, empty: str) -> dict[str, Any]:
    """One of CHARTS, as charts.js draws it, without its x axis."""
    title, unit, lines = CHARTS[kind]
    return {
        "title": str(title),
        "y": {"unit": unit, "scale": "log"} if unit == "ms" else {"unit": unit},
        "series": [
            meant_series(meaning, [value(minute) for minute in minutes], style="line") for meaning, value in lines
        ],
        "empty": empty,
    }


def time_axis(minutes: Sequence[Minute]) -> dict[str, Any]:
    """The moments at which stretches of time ended."""
    return {"unit": "time", "values": [minute.end_ms for minute in minutes]}


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
    minutes = _minutes_of(visible, shown)
    empty = _("Redis does not answer") if visible.away else _("Nothing was recorded in this time.")
    charts = {kind: minute_chart(kind, minutes, empty=empty) for kind in CHARTS}
    charts["wait"]["lines"] = [_objective(line) for line in read_objective_lines(visible=visible)]
    found = read_chart_events(user=request.user, from_ms=shown.from_ms, to_ms=shown.to_ms + MINUTE_MS)
    events = [_event(event) for event in found.events]
    return JsonResponse(
        {"x": time_axis(minutes), "charts": charts, "events": events, "events_left_out": found.left_out}
    )


def _minutes_of(visible: VisiblePools, shown: ChartRange) -> Sequence[Minute]:
    """If it ends now, the last is of the running minute; what ended after that was not surveyed yet."""
    minutes = history_of_pools(visible=visible, span=shown.span).minutes
    running = running_minute(visible) if shown.key and minutes else None
    if running is None:
        return minutes
    surveyed = [minute for minute in minutes if minute.end_ms <= running.end_ms]
    return surveyed if surveyed and surveyed[-1].end_ms == running.end_ms else [*surveyed, running]


def _objective(line: ObjectiveLine) -> dict[str, Any]:
    """Of a chart: a level."""
    where = ngettext("%(first)s", "%(first)s and %(more)s more", line.places) % {
        "first": line.first,
        "more": line.places - 1,
    }
    length = brief_duration(line.objective_ms)
    return {
        "value": line.objective_ms,
        "name": _("objective %(length)s: %(where)s") % {"length": length, "where": where},
    }


def _event(event: ChartEvent) -> dict[str, Any]:
    """As charts/events.js takes it."""
    where = event.queue or event.namespace or event.pool
    title, url = f"{where}: {event.about}" if where else event.about, ""
    if event.kind is EventKind.INCIDENT and event.pk is not None:
        url = reverse("dashboard:incident", args=[event.pk])
    elif event.kind is EventKind.PAUSE:
        title = _("%(queue)s paused by %(who)s") % {"queue": event.queue, "who": event.about}
        url = reverse("dashboard:queue", args=[event.pool, event.namespace, event.queue])
    elif event.kind is EventKind.DEPLOY:
        title = _("%(namespace)s: %(version)s deployed") % {"namespace": event.namespace, "version": event.about}
    return {
        "kind": event.kind.value,
        "severity": event.severity or "",
        "at": event.at_ms,
        "until": event.until_ms,
        "title": title,
        "url": url,
    }


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
