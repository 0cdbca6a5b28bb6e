"""The limit keys of a queue: who is throttled, and why."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from queues.services.queues.limit_keys import read_limit_keys
from queues.services.queues.page import find_place

from .decorators import is_live, page

TEXT_MAX = 255


@page
def limit_keys(request: HttpRequest, pool: str, namespace: str, queue: str) -> HttpResponse:
    """`?q=BEGINNING&after=...`; for live.js the part that changes."""
    place = find_place(user=request.user, pool=pool, namespace=namespace, queue=queue)
    text, after = (request.GET.get(name, "")[:TEXT_MAX] for name in ("q", "after"))
    limits = read_limit_keys(pool=pool, namespace=namespace, queue=queue, text=text, after=after)
    context = {"place": place, "limits": limits, "text": text, "is_first": not after}
    return render(request, f"dashboard/{'_limit_keys' if is_live(request) else 'limit_keys'}.html", context)


urlpatterns = [
    path("queues/<str:pool>/<str:namespace>/<str:queue>/limit-keys/", limit_keys, name="queue_limit_keys"),
]
