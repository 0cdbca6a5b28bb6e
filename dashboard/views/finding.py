"""The search box, and what the command palette offers: pages, queues, and what may be done with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext as _

from dashboard.navigation import items_for
from queues.services.jobs.finding import search_job
from queues.services.permissions import Role, roles_of
from queues.services.search import (
    JobMatches,
    QueueMatch,
    find_jobs_by_key_or_prefix,
    match_queues,
    one_search_at_a_time,
)

from .decorators import page
from .parameters import read_text

_JOB_ID: Final = re.compile(r"(?<![0-9A-Z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Z])")

EXACT_MAX: Final = 20
"""Queues of one name, in different namespaces, that are listed."""


NO_JOBS: Final = JobMatches(jobs=(), is_complete=True)


@page
def find(request: HttpRequest) -> HttpResponse:
    """`/find?q=TEXT`: leads to the job whose id is in TEXT, to the queue of that name, or to the one job with that
    idempotency key or beginning of an id; else lists what there is, or the queues that have TEXT in their name.

    429 while another search of the user runs.
    """
    text = read_text(request, "q")
    if not text:
        return redirect("dashboard:queues")
    with one_search_at_a_time(request.user):
        found = _JOB_ID.search(text.upper())
        if found is not None:
            return _find_job(request, text, found[0])
        matches = match_queues(user=request.user, text=text, limit=EXACT_MAX)
        queues = [one for one in matches if one.is_exact]
        jobs = NO_JOBS if queues else find_jobs_by_key_or_prefix(user=request.user, text=text)
    if len(queues) == 1:
        return redirect(_queue_url(queues[0]))
    if len(jobs.jobs) == 1 and jobs.is_complete:
        job = jobs.jobs[0]
        return redirect("dashboard:job", job.pool, job.namespace, job.queue, job.job_id)
    if not queues and not jobs.jobs and (matches or jobs.is_complete):
        return redirect(f"{reverse('dashboard:queues')}?{urlencode({'q': text})}")
    context = {"find_text": text, "queues": queues, "found": jobs}
    return render(request, "dashboard/found.html", context)


def _find_job(request: HttpRequest, text: str, job_id: str) -> HttpResponse:
    search = search_job(user=request.user, job_id=job_id)
    if (place := search.found) is not None:
        return redirect("dashboard:job", place.pool, place.namespace, place.queue, job_id)
    context = {"find_text": text, "job_id": job_id, "search": search}
    return render(request, "dashboard/find.html", context, status=503 if search.away else 404)


QUEUES_MAX: Final = 8
_ACTED_ON_MAX: Final = 3
"""Queues whose acts are offered beside the links to them."""

Item = dict[str, str]


@page
def palette(request: HttpRequest) -> HttpResponse:
    """`?q=TEXT`: `{"items": [{"group", "title", "detail", "url"[, "method": "post"]}]}`, at most some forty.

    The words of TEXT before the last may name an act: `pause orders`.
    """
    text = read_text(request, "q")
    words = text.lower().split()
    name = words[-1] if words else ""
    matches = match_queues(user=request.user, text=name, limit=QUEUES_MAX)
    items = [item for item in _pages(request) if _has(item["title"], words)]
    items += [
        {"group": _("Queues"), "title": one.queue, "detail": _place(one), "url": _queue_url(one)} for one in matches
    ]
    roles = roles_of(user=request.user) if matches else {}
    acts = [
        item for one in matches[:_ACTED_ON_MAX] for item in _acts(one, roles.get((one.pool, one.namespace), Role.READ))
    ]
    items += [item for item in acts if len(words) < 2 or _has(item["title"], words)]
    if text:
        url = f"{reverse('dashboard:find')}?{urlencode({'q': text})}"
        detail = _("by job id, beginning of an id, idempotency key or queue name")
        items.append(
            {"group": _("Search"), "title": _("Search for “%(text)s”") % {"text": text}, "detail": detail, "url": url}
        )
    return JsonResponse({"items": items})


def _has(title: str, words: list[str]) -> bool:
    return all(word in title.lower() for word in words)


def _pages(request: HttpRequest) -> Iterator[Item]:
    for one in items_for(request):
        yield {"group": _("Pages"), "title": str(one.title), "detail": "", "url": one.url}
    more = [(_("Alert channels"), reverse("dashboard:alerts")), (_("API documentation"), "/api/docs")]
    for title, url in more:
        yield {"group": _("Pages"), "title": title, "detail": "", "url": url}


def _acts(one: QueueMatch, role: Role) -> Iterator[Item]:
    """What a person with this role may do with the queue. What changes something is sent by POST."""
    named: dict[str, Any] = {"pool": one.pool, "namespace": one.namespace, "queue": one.queue}
    dead = f"{reverse('dashboard:dead')}?{urlencode(named)}"
    links = [(_("Dead letters of %(queue)s"), dead, "get")]
    if role >= Role.OPERATE:
        links.append((_("Publish a job to %(queue)s"), reverse("dashboard:queue_publish", kwargs=named), "get"))
        if one.paused:
            links.append((_("Resume %(queue)s"), reverse("dashboard:queue_resume", kwargs=named), "post"))
        else:
            links.append((_("Pause %(queue)s"), reverse("dashboard:queue_pause", kwargs=named), "post"))
    if role >= Role.ADMIN:
        links.append((_("Edit policy of %(queue)s"), reverse("dashboard:queue_policy", kwargs=named), "get"))
        links.append((_("Delete all jobs from %(queue)s…"), reverse("dashboard:queue_empty", kwargs=named), "post"))
    for title, url, method in links:
        yield {
            "group": _("Actions"),
            "title": title % {"queue": one.queue},
            "detail": _place(one),
            "url": url,
            "method": method,
        }


def _place(one: QueueMatch) -> str:
    return f"{one.pool}/{one.namespace}"


def _queue_url(one: QueueMatch) -> str:
    return reverse("dashboard:queue", args=(one.pool, one.namespace, one.queue))


urlpatterns = [
    path("find", find, name="find"),
    path("palette", palette, name="palette"),
]
