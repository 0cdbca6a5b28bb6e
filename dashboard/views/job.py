"""One job: its timeline, what it carries, what may be done with it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.translation import gettext as _

from dashboard.confirmations import confirm_job
from dashboard.forms.jobs import OrderForm, whole_number
from dashboard.job_bodies import BodyForm, read_task_message, show_body
from dashboard.job_snippets import curl_of, test_of
from queues.engine.errors import JobNotFoundError, LeaseLostError
from queues.engine.names import is_job_id, published_ms
from queues.engine.values import JobState
from queues.services.deletions import defer_jobs, deletions_of_queue
from queues.services.jobs.actions import ChosenJob, JobAct, act_on_jobs
from queues.services.jobs.gone import read_gone_job
from queues.services.jobs.page import JobView, read_job
from queues.services.queues.page import QueuePlace, find_place
from queues.services.workers.commands import cancel_running_job

from .decorators import action, confirm, confirm_first, done, is_live, page
from .deletions import deferred, wants_undo
from .queue_actions import queue_url


@page
def job(request: HttpRequest, pool: str, namespace: str, queue: str, job_id: str) -> HttpResponse:
    """The whole page. Of a job that Redis does not have it says so at once, and fetches what the event lake knows."""
    place = find_place(user=request.user, pool=pool, namespace=namespace, queue=queue)
    try:
        view = read_job(place=place, job_id=job_id)
    except JobNotFoundError:
        if not is_job_id(job_id):
            raise
        return render(request, "dashboard/job_gone.html", _gone(place, job_id))
    form = _form(request)
    context = {
        "view": view,
        "place": view.place,
        "job": view.job,
        "task": read_task_message(view.job.body),
        "body": show_body(view.job.body, form=form),
        "result": None if view.result is None else show_body(view.result, form=form),
        "order": OrderForm(),
        **_deletions(view.place, job_id),
        "curl": curl_of(view.job, origin=f"{request.scheme}://{request.get_host()}"),
        "test": test_of(view.job),
        "day": _day_of(view.job.published_ms),
    }
    return render(request, "dashboard/job.html", context)


def _gone(place: QueuePlace, job_id: str) -> dict[str, Any]:
    return {
        "place": place,
        "job_id": job_id,
        "published_ms": published_ms(job_id),
        "day": _day_of(published_ms(job_id)),
    }


@page
def job_events(request: HttpRequest, pool: str, namespace: str, queue: str, job_id: str) -> HttpResponse:
    """What the event lake knows of a job that Redis does not have: takes up to a second and a half."""
    place = find_place(user=request.user, pool=pool, namespace=namespace, queue=queue)
    if not is_job_id(job_id):
        raise JobNotFoundError(job_id)
    context = _gone(place, job_id) | {"is_searched": True, "gone": read_gone_job(place=place, job_id=job_id)}
    return render(request, f"dashboard/{'_job_events' if is_live(request) else 'job_gone'}.html", context)


@page
def job_live(request: HttpRequest, pool: str, namespace: str, queue: str, job_id: str) -> HttpResponse:
    """State, time line and buttons, for the page to fetch again and again."""
    place = find_place(user=request.user, pool=pool, namespace=namespace, queue=queue)
    try:
        view = read_job(place=place, job_id=job_id, with_body=False)
    except JobNotFoundError:
        if not is_job_id(job_id):
            raise
        # not an error of the user: it was there when the page was made
        return render(request, "dashboard/_job_gone.html", {"place": place, "job_id": job_id}, status=404)
    context = {"view": view, "place": place, "job": view.job, "order": OrderForm(), **_deletions(place, job_id)}
    return render(request, "dashboard/_job_life.html", context)


def _deletions(place: QueuePlace, job_id: str) -> dict[str, Any]:
    """Those that name the job, for it to be kept."""
    rows = [row for row in deletions_of_queue(place=place) if job_id in row.request.get("ids", ())]
    return {
        "deletions": rows,
        "back": reverse("dashboard:job", args=(place.pool, place.namespace, place.queue, job_id)),
    }


@page
def job_body(request: HttpRequest, pool: str, namespace: str, queue: str, job_id: str) -> HttpResponse:
    """The body alone, for a peek."""
    view = _view(request, pool, namespace, queue, job_id)
    shown = show_body(view.job.body, form=_form(request))
    return render(request, "dashboard/_body.html", {"body": shown, "place": view.place, "job": view.job})


@page
def job_raw(request: HttpRequest, pool: str, namespace: str, queue: str, job_id: str, part: str) -> HttpResponse:
    """Body or result as it is, to be saved: never to be shown by the browser as what it claims to be."""
    view = _view(request, pool, namespace, queue, job_id)
    raw = {"body": view.job.body, "result": view.result}.get(part)
    if raw is None:
        raise Http404
    headers = {
        "Content-Disposition": f'attachment; filename="{view.job.job_id}.{part}.bin"',
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "X-Content-Type-Options": "nosniff",
    }
    return HttpResponse(raw, content_type="application/octet-stream", headers=headers)


@action
def job_act(request: HttpRequest, pool: str, namespace: str, queue: str, job_id: str) -> HttpResponse:
    """Do something with the job, if it still is as the person saw it."""
    place = find_place(user=request.user, pool=pool, namespace=namespace, queue=queue)
    order = OrderForm(request.POST).order()
    back = reverse("dashboard:job", args=(pool, namespace, queue, job_id))
    unanswered = confirm(request, confirm_job(order.act, job_id=job_id, with_undo=wants_undo(request)))
    if unanswered is not None:
        return unanswered
    chosen = ChosenJob(job_id=job_id, attempt=whole_number(request.POST.get("attempt", "")) or 0)
    if order.act is JobAct.DELETE and wants_undo(request):
        row = defer_jobs(user=request.user, place=place, order=order, jobs=[chosen])
        return deferred(request, row, back=back)
    if not act_on_jobs(user=request.user, place=place, order=order, jobs=[chosen]):
        raise LeaseLostError(job_id)
    goes = order.act is JobAct.DELETE or (order.act is JobAct.ACK and "kept" not in request.POST)
    return done(request, message=_said(order.act), back=queue_url(place) if goes else back)


@action
def job_cancel(request: HttpRequest, pool: str, namespace: str, queue: str, job_id: str) -> HttpResponse:
    """Have the worker that runs the job end it, if the attempt still is the one that the person saw."""
    place = find_place(user=request.user, pool=pool, namespace=namespace, queue=queue)
    question = _("Cancel this job? Its task is interrupted, and the job becomes a dead letter.")
    unanswered = confirm_first(request, question=question, button=_("Cancel job"))
    if unanswered is not None:
        return unanswered
    attempt = whole_number(request.POST.get("attempt", "")) or 0
    state = cancel_running_job(user=request.user, place=place, job_id=job_id, attempt=attempt)
    if state is not JobState.WORKING:
        return done(request, message=_("The job was no longer working: it is deleted."), back=queue_url(place))
    message = _("Job %(job)s is cancelled: its worker was told to end it.") % {"job": job_id}
    return done(request, message=message, back=reverse("dashboard:job", args=(pool, namespace, queue, job_id)))


def _view(request: HttpRequest, pool: str, namespace: str, queue: str, job_id: str) -> JobView:
    place = find_place(user=request.user, pool=pool, namespace=namespace, queue=queue)
    return read_job(place=place, job_id=job_id)


def _day_of(at_ms: int) -> date:
    return datetime.fromtimestamp(at_ms / 1000, UTC).date()


def _form(request: HttpRequest) -> BodyForm | None:
    """`as=text|json|hex`."""
    try:
        return BodyForm(request.GET.get("as", ""))
    except ValueError:
        return None


def _said(act: JobAct) -> str:
    said = {
        JobAct.ACK: _("The job is acked."),
        JobAct.RETRY: _("The job is ready."),
        JobAct.RELEASE: _("The job is released: the attempt does not count as one of its tries."),
        JobAct.RESCHEDULE: _("The job is rescheduled."),
        JobAct.RESPAWN: _("The job is ready again, with one more try."),
        JobAct.DELETE: _("The job is deleted."),
    }
    return said[act]


_AT = "queues/<str:pool>/<str:namespace>/<str:queue>/jobs/<str:job_id>/"

urlpatterns = [
    path(_AT, job, name="job"),
    path(f"{_AT}now", job_live, name="job_live"),
    path(f"{_AT}events", job_events, name="job_events"),
    path(f"{_AT}peek", job_body, name="job_body"),
    path(f"{_AT}raw/<str:part>", job_raw, name="job_raw"),
    path(f"{_AT}act", job_act, name="job_act"),
    path(f"{_AT}cancel", job_cancel, name="job_cancel"),
]
