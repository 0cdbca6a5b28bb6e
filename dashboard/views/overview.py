"""What is wrong, at a glance."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from queues.services.overview import read_overview

from .doors import page


@page
def overview(request: HttpRequest) -> HttpResponse:
    """Every queue that the user may see, with its counts."""
    return render(request, "dashboard/overview.html", {"overview": read_overview(user=request.user)})


@page
def overview_queues(request: HttpRequest) -> HttpResponse:
    """The part of the overview that changes, for the page to fetch again and again."""
    return render(request, "dashboard/queues.html", {"overview": read_overview(user=request.user)})


urlpatterns = [
    path("", overview, name="overview"),
    path("overview/queues", overview_queues, name="overview_queues"),
]
