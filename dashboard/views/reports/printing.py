"""The summary of a day for paper: one or two sheets of A4."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.views.doors import page
from queues.services.permissions import check_visible
from queues.services.reporting.account import read_summary
from queues.services.reporting.summary import word_summary

from .contents import charts_of_hours
from .places import place_in


@page
def report_print(request: HttpRequest, day: date) -> HttpResponse:
    """`?pool=&namespace=&queue=`: of these alone. What the mail says, with pictures in place of its tables of hours."""
    user, place = request.user, place_in(request.GET.dict())
    if place.namespace:
        check_visible(user=user, pool=place.pool, namespace=place.namespace)
    names: Any = place.names
    found = read_summary(user=user, day=day, **names)
    context: dict[str, Any] = {"day": day, "place": place, "page_url": place.url(day), "summary": word_summary(found)}
    if found.account is not None:
        context |= {"figures": found.account.figures, "charts": charts_of_hours(found.account, day)}
    return render(request, "dashboard/report_print.html", context)
