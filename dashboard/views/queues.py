"""All queues that the person may see."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _

from .doors import page


@page
def queues(request: HttpRequest) -> HttpResponse:
    """All queues that the person may see."""
    return render(
        request,
        "dashboard/empty.html",
        {"title": _("Queues"), "text": _("Every queue of your namespaces will be listed here.")},
    )


urlpatterns = [path("queues/", queues, name="queues")]
