"""The data of the live charts of minutes, of the overview and of a queue, as charts.js draws them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from dashboard.chart_range import ChartRange
from dashboard.formatting import brief_duration
from dashboard.series import Meaning, meant_series
from queues.engine.stats.minutes import Minute
from queues.engine.values import JobState
from queues.services.chart_events import ChartEvent, ChartEvents, EventKind
from queues.services.queues.minute_history import history_of_pools, running_minute
from queues.services.queues.objective_lines import ObjectiveLine, read_objective_lines
from queues.services.queues.visible_queues import VisiblePools

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


def charts_of_pools(visible: VisiblePools, shown: ChartRange, found: ChartEvents) -> dict[str, Any]:
    """All of CHARTS over all that the person may see, and what happened meanwhile."""
    minutes = _minutes_of(visible, shown)
    empty = _("Redis does not answer") if visible.away else _("Nothing was recorded in this time.")
    charts = {kind: minute_chart(kind, minutes, empty=empty) for kind in CHARTS}
    charts["wait"]["lines"] = [_objective(line) for line in read_objective_lines(visible=visible)]
    events = [_event(event) for event in found.events]
    return {"x": time_axis(minutes), "charts": charts, "events": events, "events_left_out": found.left_out}


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
    where, more = line.first, line.places - 1
    if more:
        words = ngettext("%(first)s and %(more)s more", "%(first)s and %(more)s more", more)
        where = words % {"first": where, "more": more}
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
