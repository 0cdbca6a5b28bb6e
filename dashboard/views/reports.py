"""What the nights counted: so far the place for it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from .doors import page


@page
def reports(request: HttpRequest) -> HttpResponse:
    """What will be here, and where to look until then."""
    return render(request, "dashboard/reports.html")


urlpatterns = [path("reports/", reports, name="reports")]
