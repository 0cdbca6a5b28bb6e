"""The summary of a day for paper: one or two sheets of A4."""

from __future__ import annotations

from datetime import date
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.views.doors import page
from queues.services.reporting.days import find_day
from queues.services.reporting.tables import QueueFilter, list_queues
from queues.services.visible import check_visible

from .contents import contents_of_everything, contents_of_place
from .places import place_in

QUEUES: Final = 12
ERRORS: Final = 5
OBJECTIVES: Final = 8
CHANGES: Final = 6


@page
def report_print(request: HttpRequest, day: date) -> HttpResponse:
    """`?pool=&namespace=&queue=`: of these alone."""
    user, place = request.user, place_in(request.GET.dict())
    if place.namespace:
        check_visible(user=user, pool=place.pool, namespace=place.namespace)
        found = contents_of_place(user=user, day=day, place=place, measure="published")
    else:
        found = contents_of_everything(user=user, day=day, measure="published")
    context = {
        "day": day,
        "place": place,
        "entry": find_day(user=user, day=day),
        "page_url": place.url(day),
        "figures": None,
        "most": {"errors": ERRORS, "objectives": OBJECTIVES, "changes": CHANGES},
    }
    if found is not None and not place.queue:
        chosen = QueueFilter(pool=place.pool, namespace=place.namespace)
        found["queues"] = list_queues(user=user, day=day, chosen=chosen, most=QUEUES)
    return render(request, "dashboard/report_print.html", context | (found or {}))
