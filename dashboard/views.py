"""Pages. What they show comes from `queues.services`, which also decides who may see what."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from queues.services.overview import read_overview

LOGIN = "dashboard:login"


@require_safe
@never_cache
@login_required(login_url=LOGIN)
def overview(request: HttpRequest) -> HttpResponse:
    """Every queue that the user may see, with its counts."""
    return render(request, "dashboard/overview.html", {"overview": read_overview(user=request.user)})


@require_safe
@never_cache
@login_required(login_url=LOGIN)
def overview_queues(request: HttpRequest) -> HttpResponse:
    """The part of the overview that changes, for the page to fetch again and again."""
    return render(request, "dashboard/queues.html", {"overview": read_overview(user=request.user)})
