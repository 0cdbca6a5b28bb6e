"""Jobs that are published by the clock."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _

from .doors import page


@page
def schedules(request: HttpRequest) -> HttpResponse:
    """Jobs that are published by the clock."""
    return render(
        request,
        "dashboard/empty.html",
        {"title": _("Schedules"), "text": _("Jobs that are published by the clock will be listed here.")},
    )


urlpatterns = [path("schedules/", schedules, name="schedules")]
