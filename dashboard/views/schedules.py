"""Jobs that are published by the clock: so far the place for them."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from .access import page


@page
def schedules(request: HttpRequest) -> HttpResponse:
    """What will be here, and what to do until then."""
    return render(request, "dashboard/schedules.html")


urlpatterns = [path("schedules/", schedules, name="schedules")]
