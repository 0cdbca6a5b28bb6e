"""From a job's id, pasted on any page, to the job; from a piece of a queue's name to the queues that have it."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse

from queues.services.jobs.finding import search_job

from .decorators import page

_JOB_ID: Final = re.compile(r"(?<![0-9A-Z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Z])")


@page
def find(request: HttpRequest) -> HttpResponse:
    """`/find?q=TEXT`: leads on to the job whose id is in TEXT, or to the queues. 404: no such job, or not theirs."""
    text = request.GET.get("q", "").strip()[:255]
    found = _JOB_ID.search(text.upper())
    if found is None:
        return redirect(f"{reverse('dashboard:queues')}?{urlencode({'q': text})}" if text else "dashboard:queues")
    search = search_job(user=request.user, job_id=found[0])
    if (place := search.found) is not None:
        return redirect("dashboard:job", place.pool, place.namespace, place.queue, found[0])
    status = 503 if search.away else 404
    return render(
        request, "dashboard/find.html", {"find_text": text, "job_id": found[0], "search": search}, status=status
    )


urlpatterns = [path("find", find, name="find")]
