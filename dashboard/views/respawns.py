"""Respawns at a rate: started and stopped here, carried out by pumps."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.translation import gettext as _

from dashboard.forms.jobs import whole_number
from queues.services.dead_letters.respawn_plans import list_respawns, start_respawn, stop_respawn
from queues.services.errors import InvalidArgumentError

from .dead_letters import fields_of, filter_of
from .decorators import action, done, page

PER_MINUTE: Final = {"s": 60, "min": 1}


@page
def dead_respawns(request: HttpRequest) -> HttpResponse:
    """Those that run or have just ended, for live.js."""
    return render(request, "dashboard/_respawns.html", {"respawns": list_respawns(user=request.user)})


@action
def dead_respawn_start(request: HttpRequest) -> HttpResponse:
    """Respawn all that the filter means, `rate` jobs per `unit` (s or min)."""
    chosen = filter_of(request.POST)
    rate, unit = whole_number(request.POST.get("rate", "")), request.POST.get("unit", "")
    if rate is None or unit not in PER_MINUTE:
        raise InvalidArgumentError("invalid rate")
    pk = start_respawn(user=request.user, chosen=chosen, per_minute=rate * PER_MINUTE[unit])
    message = _("The respawn goes on in the background, also when this page is closed.")
    if pk is None:
        message = _("There is nothing to respawn.")
    return done(request, message=message, back=_dead_url(request), data={"id": pk})


@action
def dead_respawn_stop(request: HttpRequest, pk: int) -> HttpResponse:
    """Stop it; what it has not come to stays dead."""
    stopped = stop_respawn(user=request.user, pk=pk)
    message = _("Stopped: the other dead letters are untouched.") if stopped else _("It had ended before.")
    return done(request, message=message, back=_dead_url(request))


def _dead_url(request: HttpRequest) -> str:
    query = urlencode(fields_of(filter_of(request.POST)))
    return reverse("dashboard:dead") + (f"?{query}" if query else "")


urlpatterns = [
    path("dead/respawns", dead_respawns, name="dead_respawns"),
    path("dead/respawns/start", dead_respawn_start, name="dead_respawn_start"),
    path("dead/respawns/<int:pk>/stop", dead_respawn_stop, name="dead_respawn_stop"),
]
