"""Who did what."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from queues.services.activity import ActivityFilter, actions, list_activity
from queues.services.dead_letters.filtering import read_day
from queues.services.errors import InvalidArgumentError

from .decorators import is_live, page
from .parameters import TEXT_MAX

FILTERS: Final = ("who", "action", "namespace", "queue", "target", "day")


@page
def activity(request: HttpRequest) -> HttpResponse:
    """The activity log, the newest first; its filters are in the query string."""
    chosen = read_activity_filter(request)
    shown = list_activity(user=request.user, chosen=chosen, before=_before(request))
    context: dict[str, Any] = {
        "chosen": chosen,
        "page": shown,
        "is_filtered": chosen != ActivityFilter(),
        "is_later": _before(request),
    }
    context["download"] = urlencode({name: text for name in FILTERS if (text := _text(request, name))})
    if is_live(request):
        return render(request, "dashboard/_activity.html", context)
    return render(request, "dashboard/activity.html", {**context, "actions": actions()})


def read_activity_filter(request: HttpRequest) -> ActivityFilter:
    """Raises InvalidArgumentError."""
    return ActivityFilter(
        who=_text(request, "who"),
        action=_text(request, "action"),
        namespace=_text(request, "namespace"),
        queue=_text(request, "queue"),
        target=_text(request, "target"),
        day=read_day(_text(request, "day")),
    )


def _text(request: HttpRequest, name: str) -> str:
    text = request.GET.get(name, "").strip()
    if len(text) > TEXT_MAX or "\0" in text:
        raise InvalidArgumentError(f"invalid {name}")
    return text


def _before(request: HttpRequest) -> int | None:
    text = request.GET.get("before", "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise InvalidArgumentError("invalid before")
    return int(text)


urlpatterns = [path("activity/", activity, name="activity")]
