"""The first day: five steps that tick themselves, and the code to copy."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from dashboard.snippets import snippet_context
from queues.services.first_day import read_first_day

from .decorators import is_live, page


@page
def first_day(request: HttpRequest) -> HttpResponse:
    """All of it; for live.js the steps."""
    progress = read_first_day(user=request.user)
    if is_live(request):
        return render(request, "dashboard/_first_day_steps.html", {"progress": progress})
    context = {"progress": progress, **snippet_context(request, namespace=progress.namespace)}
    return render(request, "dashboard/first_day.html", context)


urlpatterns = [path("first-day/", first_day, name="first_day")]
