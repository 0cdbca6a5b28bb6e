"""Dead letters, across queues: grouped by error, by queue and by day, and one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import path

from queues.services.dead_letters.actions import NEEDED_FOR_ALL, NEEDED_FOR_SELECTED, DeadVerb
from queues.services.dead_letters.groups import group_letters, mark_of, read_dead_news
from queues.services.dead_letters.places import DeadFilter, DeadPlaces, Position, position_of, read_position
from queues.services.dead_letters.scanning import LOOKS, DeadLetter, DeadStretch, look_through

from .access import is_live, page
from .dead_act import dead_act
from .dead_filter import before_of, fields_of, filter_of, since_of
from .dead_groups import groups_of, names_of, said

ROWS: Final = 50
"""Dead letters that are shown one by one."""


@page
def dead(request: HttpRequest) -> HttpResponse:
    """The first stretch, in groups, and its first rows; or from `at` on only rows.

    For dead_news.js the part that changes.
    """
    chosen, start = filter_of(request.GET), read_position(request.GET.get("at", ""))
    before_ms = before_of(request.GET)
    places, found = look_through(user=request.user, chosen=chosen, start=start, before_ms=before_ms, looks=LOOKS)
    letters = found.letters[:ROWS]
    context = {
        "chosen": chosen,
        "fields": fields_of(chosen),
        "places": places,
        "found": found,
        "matched": len(found.letters),
        "groups": groups_of(chosen, places, found),
        "rows": _rows(places, letters),
        "is_later": start is not None,
        "news_query": _news_query(chosen, places, is_later=start is not None),
        "next": _next(found, letters),
        "may_act": _may(places, NEEDED_FOR_SELECTED[DeadVerb.RESPAWN]),
        "may_respawn_all": _may(places, NEEDED_FOR_ALL[DeadVerb.RESPAWN]),
        "may_delete_all": _may(places, NEEDED_FOR_ALL[DeadVerb.DELETE]),
    }
    return render(request, f"dashboard/{'_dead' if is_live(request) else 'dead'}.html", context)


@page
def dead_news(request: HttpRequest) -> HttpResponse:
    """What died or left since the page was made, for live.js: a line that says so, or nothing."""
    chosen, since_ms = filter_of(request.GET), since_of(request.GET)
    news = read_dead_news(user=request.user, chosen=chosen, since_ms=since_ms, mark=request.GET.get("mark", ""))
    return render(request, "dashboard/_dead_news.html", {"news": news, "query": urlencode(fields_of(chosen))})


@page
def dead_more(request: HttpRequest) -> HttpResponse:
    """The next stretch from `at` on, for dead.js to add to what it shows.

    `{"errors", "queues", "days": [{"key", "html", "count", "first_ms", "last_ms", "example", "url"}], "rows": HTML,
    "looked_at", "matched", "left", "at": null at the end, "before_ms"}`.
    """
    chosen, start = filter_of(request.GET), read_position(request.GET.get("at", ""))
    before_ms = before_of(request.GET)
    places, found = look_through(user=request.user, chosen=chosen, start=start, before_ms=before_ms, looks=LOOKS)
    groups = group_letters(found.letters)
    base = fields_of(chosen)
    rows = {"rows": _rows(places, found.letters[:ROWS])}
    return JsonResponse(
        {
            "errors": [said(group, base | {"like": group.key}) for group in groups.errors],
            "queues": [said(group, base | names_of(group)) for group in groups.queues] if chosen.reads_errors else [],
            "days": [said(group, base | {"day": group.key}) for group in groups.days],
            "rows": render_to_string("dashboard/_dead_rows.html", rows, request),
            "looked_at": found.looked_at,
            "matched": len(found.letters),
            "left": found.left,
            "at": str(found.position) if found.position else None,
            "before_ms": places.before_ms,
        }
    )


def _rows(places: DeadPlaces, letters: Sequence[DeadLetter]) -> list[dict[str, Any]]:
    """Each letter, and whether this person may do something about it."""
    roles = {one.place: one.role for one in places.places}
    needed = NEEDED_FOR_SELECTED[DeadVerb.RESPAWN]
    return [{"letter": letter, "may_act": roles[letter.place] >= needed} for letter in letters]


def _may(places: DeadPlaces, needed: int) -> bool:
    return any(one.role >= needed for one in places.places)


def _news_query(chosen: DeadFilter, places: DeadPlaces, *, is_later: bool) -> str:
    """A page behind the first is of the moment when the first was made, and does not know of all queues."""
    known = {"since_ms": places.before_ms} if is_later else {"since_ms": places.asked_ms, "mark": mark_of(places)}
    return urlencode(fields_of(chosen) | known)


def _next(found: DeadStretch, letters: Sequence[DeadLetter]) -> Position | None:
    """Where the next page of rows begins."""
    if len(letters) < len(found.letters):
        return position_of(letters[-1].place, letters[-1].job)
    return found.position


urlpatterns = [
    path("dead/", dead, name="dead"),
    path("dead/more", dead_more, name="dead_more"),
    path("dead/news", dead_news, name="dead_news"),
    path("dead/act", dead_act, name="dead_act"),
]
