"""Who did what."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _

from .doors import page


@page
def activity(request: HttpRequest) -> HttpResponse:
    """Who did what."""
    return render(
        request, "dashboard/empty.html", {"title": _("Activity"), "text": _("Who did what will be listed here.")}
    )


urlpatterns = [path("activity/", activity, name="activity")]
