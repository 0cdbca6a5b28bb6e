"""One job."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _

from .doors import page


@page
def job(request: HttpRequest, pool: str, namespace: str, queue: str, job_id: str) -> HttpResponse:
    """One job."""
    return render(
        request, "dashboard/empty.html", {"title": _("Job"), "text": _("The life of the job will be told here.")}
    )


urlpatterns = [path("queues/<str:pool>/<str:namespace>/<str:queue>/jobs/<str:job_id>/", job, name="job")]
