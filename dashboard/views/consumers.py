"""The page *Consumers*: which consumers wait or work, on what, since when, from where."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext_lazy as _

from queues.services.consumers.reading import read_consumers

from .decorators import is_live, page
from .parameters import read_text

STATES: Final = (
    ("waiting", _("Waiting")),
    ("working", _("Working")),
    ("overdue", _("Overdue")),
    ("away", _("Not there now")),
)
GROUPINGS: Final = (("consumer", _("By consumer")), ("queue", _("By queue")))


@page
def consumers(request: HttpRequest) -> HttpResponse:
    """`?by=consumer|queue&namespace=POOL/NAME&state=...&q=...`; for live.js the part that changes."""
    asked = {
        "namespace": request.GET.get("namespace", ""),
        "text": read_text(request, "q"),
        "state": request.GET.get("state", ""),
    }
    if asked["state"] not in dict(STATES):
        asked["state"] = ""
    by = request.GET.get("by", "")
    context = {
        "view": read_consumers(user=request.user, **asked),
        "asked": asked,
        "narrowed": any(asked.values()),
        "by": by if by in dict(GROUPINGS) else "consumer",
        "states": STATES,
        "groupings": GROUPINGS,
    }
    return render(request, f"dashboard/{'_consumers' if is_live(request) else 'consumers'}.html", context)


urlpatterns = [path("consumers/", consumers, name="consumers")]
