"""Where reports are entered: the latest one, the day that was asked for, or what to do when there is none."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from dashboard.views.access import page
from queues.services.permissions import User
from queues.services.reporting.days import latest_day, list_days, yesterday
from queues.services.reporting.values import DayState

from .places import place_in, read_day

DEMO_DAYS: Final = 14
"""Of made-up history, in the words of the page."""


@page
def reports(request: HttpRequest) -> HttpResponse:
    """`?day=` of the field that leads to a day; with `pool`, `namespace`, `queue` to the day of one of these."""
    day = read_day(request.GET.get("day", "")) or _newest(request.user)
    if day is None:
        demo = {"demo_from": yesterday() - timedelta(days=DEMO_DAYS - 1), "demo_to": yesterday()}
        return render(request, "dashboard/reports.html", {"report_at": settings.TASKQ_REPORT_AT} | demo)
    return redirect(place_in(request.GET.dict()).url(day))  # which answers 404 for what is not to be seen


def _newest(user: User) -> date | None:
    """The newest day that has a report, or a run that is under way or failed; None if there never was any."""
    latest = latest_day(user=user)
    if latest is not None:
        return latest.day
    return next((entry.day for entry in list_days(user=user) if entry.state is not DayState.MISSING), None)
