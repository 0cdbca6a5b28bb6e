"""Who is waiting or working."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _

from .doors import page


@page
def consumers(request: HttpRequest) -> HttpResponse:
    """Who is waiting or working."""
    return render(
        request,
        "dashboard/empty.html",
        {"title": _("Consumers"), "text": _("Who waits for jobs, and who works on one, will be listed here.")},
    )


urlpatterns = [path("consumers/", consumers, name="consumers")]
