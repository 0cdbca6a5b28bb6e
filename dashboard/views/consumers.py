"""Consumers that wait for jobs or work on some; workers of the Python SDK, and buttons that quiet, resume, stop one."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard.formatting import visible_text
from queues.services.consumers.reading import read_consumers
from queues.services.workers.commands import WorkerAct, command_worker
from queues.services.workers.reading import read_workers

from .decorators import action, confirm_first, done, is_live, page
from .parameters import TEXT_MAX, read_act, read_text

STATES: Final = (
    ("waiting", _("Waiting")),
    ("working", _("Working")),
    ("overdue", _("Overdue")),
    ("away", _("Not connected")),
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


@page
def workers(request: HttpRequest) -> HttpResponse:
    """`?namespace=POOL/NAME&q=...`; for live.js the part that changes."""
    asked = {
        "namespace": request.GET.get("namespace", ""),
        "text": read_text(request, "q"),
    }
    context = {"view": read_workers(user=request.user, **asked), "asked": asked, "narrowed": any(asked.values())}
    return render(request, f"dashboard/{'_workers' if is_live(request) else 'workers'}.html", context)


@action
def worker_act(request: HttpRequest, pool: str, namespace: str) -> HttpResponse:
    """`act=quiet|resume|stop&worker=ID`; the id may be percent-encoded, for ids that have invisible characters."""
    act = read_act(request, WorkerAct)
    worker = unquote(request.POST.get("worker", ""))
    if act is WorkerAct.STOP:
        question = gettext("Stop this worker? It finishes the jobs that it runs, and then ends.")
        unanswered = confirm_first(request, question=question, button=gettext("Stop worker"))
        if unanswered is not None:
            return unanswered
    command_worker(user=request.user, pool=pool, namespace=namespace, worker=worker, act=act)
    message = _message_of(act) % {"worker": visible_text(worker[:TEXT_MAX])}
    return done(request, message=message, back=reverse("dashboard:workers"))


def _message_of(act: WorkerAct) -> str:
    said = {
        WorkerAct.QUIET: gettext("Worker %(worker)s was told to take no more jobs; those that it runs go on."),
        WorkerAct.RESUME: gettext("Worker %(worker)s was told to take jobs again."),
        WorkerAct.STOP: gettext("Worker %(worker)s was told to stop: it finishes the jobs that it runs, and ends."),
    }
    return said[act]


urlpatterns = [
    path("consumers/", consumers, name="consumers"),
    path("workers/", workers, name="workers"),
    path("workers/<str:pool>/<str:namespace>/act", worker_act, name="worker_act"),
]
