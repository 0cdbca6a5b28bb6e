"""The charts of the queue page, as the JSON that charts.js draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _

from queues.engine.values import Spread
from queues.services.queue_page import QueuePlace, find_place, read_distributions

from .doors import page

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


CHARTS: Final[Mapping[str, Callable[[QueuePlace], Chart]]] = {"waits": _waits, "runs": _runs}
