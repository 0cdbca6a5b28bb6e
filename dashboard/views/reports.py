"""What the nights counted."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _

from .doors import page


@page
def reports(request: HttpRequest) -> HttpResponse:
    """What the nights counted."""
    return render(
        request,
        "dashboard/empty.html",
        {"title": _("Reports"), "text": _("What happened day by day will be reported here.")},
    )


urlpatterns = [path("reports/", reports, name="reports")]
