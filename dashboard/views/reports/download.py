"""Every table of a report as CSV."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from django.http import Http404, HttpRequest, HttpResponse

from dashboard.views.doors import page
from queues.services.permissions import check_visible
from queues.services.reporting.queue_list import queues_as_csv
from queues.services.reporting.tables import TABLES, as_csv

from .places import Place, place_in, read_day
from .sheets import ROWS, Wanted
from .tables import read_filter


@page
def report_csv(request: HttpRequest, day: date) -> HttpResponse:
    """`?table=` one of ROWS, or `queues`; `pool`, `namespace`, `queue`; of `queues` also `q`, `only` and `sort`."""
    name = request.GET.get("table", "queues")
    place = place_in(request.GET.dict())
    if place.namespace:
        check_visible(user=request.user, pool=place.pool, namespace=place.namespace)
    if name == "queues":
        pieces = queues_as_csv(user=request.user, day=day, chosen=read_filter(request.GET, place))
        return _sent(pieces, day, place, name)
    if name not in ROWS:
        raise Http404
    other = read_day(request.GET.get("with", ""))
    wanted = Wanted(user=request.user, day=day, place=place, other=other)
    return _sent([as_csv(TABLES[name], ROWS[name](wanted))], day, place, name)


def _sent(pieces: Iterable[str], day: date, place: Place, table: str) -> HttpResponse:
    response = HttpResponse("".join(pieces), content_type="text/csv; charset=utf-8")
    name = "-".join(["taskq", f"{day}", *place.names.values(), table])
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response
