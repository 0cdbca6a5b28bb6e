"""One queue."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _

from .doors import page


@page
def queue(request: HttpRequest, pool: str, namespace: str, queue: str) -> HttpResponse:
    """One queue."""
    return render(request, "dashboard/empty.html", {"title": _("Queue"), "text": _("Its jobs will be listed here.")})


urlpatterns = [path("queues/<str:pool>/<str:namespace>/<str:queue>/", queue, name="queue")]
