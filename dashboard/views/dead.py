"""Dead letters, across queues."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _

from .doors import page


@page
def dead(request: HttpRequest) -> HttpResponse:
    """Dead letters, across queues."""
    return render(
        request,
        "dashboard/empty.html",
        {"title": _("Dead letters"), "text": _("Jobs whose tries are used up will be grouped here.")},
    )


urlpatterns = [path("dead/", dead, name="dead")]
