"""The charts of the queue page, as the JSON that charts.js draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _

from queues.engine.values import Spread
from queues.services.queues.page import QueuePlace, find_place, read_distributions, read_minutes

from .access import page
from .overview import CHARTS as OVERVIEW_CHARTS
from .overview import MINUTE_MS

MINUTES: Final = 60
"""How much of the past a chart shows."""

Chart = dict[str, Any]


@page
def queue_chart(request: HttpRequest, pool: str, namespace: str, queue: str, kind: str) -> HttpResponse:
    """One chart."""
    place = find_place(user=request.user, pool=pool, namespace=namespace, queue=queue)
    if kind not in CHARTS:
        raise Http404
    return JsonResponse(CHARTS[kind](place))


def _waits(place: QueuePlace) -> Chart:
    spread = read_distributions(place=place).wait
    return _histogram(_("Wait: due → handed out"), spread, _("Nothing was handed out in the last ten minutes."))


def _runs(place: QueuePlace) -> Chart:
    spread = read_distributions(place=place).run
    return _histogram(_("Run: handed out → acked"), spread, _("Nothing was acked in the last ten minutes."))


def _histogram(title: str, spread: Spread, nothing: str) -> Chart:
    """`values` of x are the upper ends of the spans, in ms."""
    return {
        "title": title,
        "x": {"unit": "ms", "values": spread.bounds_ms},
        "y": {"unit": "jobs"},
        "series": [{"name": _("jobs"), "values": spread.counts, "style": "bar"}],
        "empty": nothing,
    }


def _minute_by_minute(kind: str, place: QueuePlace) -> Chart:
    """A chart that the overview has too, of this queue alone."""
    title, unit, lines = OVERVIEW_CHARTS[kind]
    minutes = read_minutes(place=place, minutes=MINUTES)
    return {
        "title": str(title),
        "x": {"unit": "time", "values": [minute.at_ms + MINUTE_MS for minute in minutes]},
        "y": {"unit": unit},
        "series": [
            {"name": str(name), "values": [value(minute) for minute in minutes], "style": "line"}
            for name, value in lines
        ],
        "empty": _("Nothing was recorded in this time."),
    }


CHARTS: Final[Mapping[str, Callable[[QueuePlace], Chart]]] = {
    "throughput": partial(_minute_by_minute, "throughput"),
    "backlog": partial(_minute_by_minute, "backlog"),
    "waits": _waits,
    "runs": _runs,
}
