"""From a job's id, pasted on any page, to the job."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _

from .doors import page


@page
def find(request: HttpRequest) -> HttpResponse:
    """`/find?q=ID`."""
    return render(request, "dashboard/empty.html", {"title": _("Find a job"), "text": _("No job of that id.")})


urlpatterns = [path("find", find, name="find")]
