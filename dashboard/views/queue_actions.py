"""Buttons and forms of the queue page: what they ask, and what they do."""

from __future__ import annotations

from django.forms import Form
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.confirmations import confirm_all, confirm_empty, confirm_selected
from dashboard.error_messages import add_input_error
from dashboard.forms.jobs import OrderForm, read_chosen, read_filter, whole_number, write_query
from dashboard.forms.queue import PolicyForm, PublishForm, publish_fields
from queues.engine.errors import InvalidArgumentError
from queues.services.deletions import defer_empty, defer_jobs, defer_matches
from queues.services.jobs.actions import JobAct, act_on_jobs, act_on_matches, check_act_on_matches, publish_by_hand
from queues.services.jobs.page import read_job
from queues.services.permissions import Role
from queues.services.policies import policy_for
from queues.services.queues.actions import (
    empty_whole_queue,
    flush_group_now,
    need,
    read_own_policy,
    save_own_policy,
    set_paused,
)
from queues.services.queues.page import NO_FILTER, QueuePlace, count_states, find_place

from .decorators import action, confirm, done, page, wants_json
from .deletions import deferred, wants_undo

INVALID = 400


def publish(request: HttpRequest, **named: str) -> HttpResponse:
    """A form with every option of a publish."""
    return (_publish_job if request.method == "POST" else _show_publish)(request, **named)


def policy(request: HttpRequest, **named: str) -> HttpResponse:
    """What holds for this queue."""
    return (_save_policy if request.method == "POST" else _show_policy)(request, **named)


@page
def _show_publish(request: HttpRequest, /, **named: str) -> HttpResponse:
    place = _place(request, named, Role.OPERATE)
    job_id = request.GET.get("from", "")
    initial = publish_fields(read_job(place=place, job_id=job_id).job) if job_id else None
    return _show(request, place, "publish", PublishForm(initial=initial))


@action
def _publish_job(request: HttpRequest, /, **named: str) -> HttpResponse:
    place = _place(request, named, Role.OPERATE)
    form = PublishForm(request.POST)
    if not form.is_valid():
        return _show(request, place, "publish", form, status=INVALID)
    try:
        published = publish_by_hand(
            user=request.user, place=place, body=form.cleaned_data["bytes"], request=form.request()
        )
    except InvalidArgumentError as error:
        add_input_error(form, error)
        return _show(request, place, "publish", form, status=INVALID)
    job_id = published.job_ids[0]
    message = _("Published.")
    if published.duplicate:
        message = _("Nothing was published: this job has the same idempotency key.")
    back = reverse("dashboard:job", kwargs=_names(place) | {"job_id": job_id})
    return done(request, message=message, back=back, data={"job_id": job_id})


@page
def _show_policy(request: HttpRequest, /, **named: str) -> HttpResponse:
    place = _place(request, named, Role.ADMIN)
    return _show(request, place, "policy", PolicyForm(initial=dict(read_own_policy(place=place))))


@action
def _save_policy(request: HttpRequest, /, **named: str) -> HttpResponse:
    place = _place(request, named, Role.ADMIN)
    form = PolicyForm(request.POST)
    if not form.is_valid():
        return _show(request, place, "policy", form, status=INVALID)
    wrong = save_own_policy(user=request.user, place=place, values=form.cleaned_data)
    for field, texts in wrong.items():
        for text in texts:
            form.add_error(field if field in form.fields else None, text)
    if wrong:
        return _show(request, place, "policy", form, status=INVALID)
    return done(request, message=_("The policy is saved."), back=queue_url(place))


def _show(request: HttpRequest, place: QueuePlace, name: str, form: Form, *, status: int = 200) -> HttpResponse:
    policy_now = policy_for(pool=place.pool, namespace=place.namespace, queue=place.queue)
    context = {"place": place, "form": form, "policy": policy_now}
    return render(request, f"dashboard/queue_{name}.html", context, status=status)


def _place(request: HttpRequest, named: dict[str, str], role: Role) -> QueuePlace:
    """The queue, if this person has the role there."""
    place = find_place(user=request.user, **named)
    need(place, role)
    return place


def _names(place: QueuePlace) -> dict[str, str]:
    return {"pool": place.pool, "namespace": place.namespace, "queue": place.queue}


@action
def pause(request: HttpRequest, pool: str, namespace: str, queue: str) -> HttpResponse:
    """Deliver nothing."""
    place = find_place(user=request.user, pool=pool, namespace=namespace, queue=queue)
    set_paused(user=request.user, place=place, paused=True)
    return done(request, message=_("Paused: nothing is delivered; publishing goes on."), back=queue_url(place))


@action
def resume(request: HttpRequest, pool: str, namespace: str, queue: str) -> HttpResponse:
    """Deliver jobs again."""
    place = find_place(user=request.user, pool=pool, namespace=namespace, queue=queue)
    set_paused(user=request.user, place=place, paused=False)
    return done(request, message=_("Resumed."), back=queue_url(place))


@action
def flush_group(request: HttpRequest, pool: str, namespace: str, queue: str) -> HttpResponse:
    """Flush a group now, whatever it has."""
    place = find_place(user=request.user, pool=pool, namespace=namespace, queue=queue)
    count = flush_group_now(user=request.user, place=place, group=request.POST.get("group", ""))
    message = ngettext("Flushed: %(count)d member.", "Flushed: %(count)d members.", count) % {"count": count}
    return done(request, message=message, back=queue_url(place), data={"done": count})


@action
def empty(request: HttpRequest, pool: str, namespace: str, queue: str) -> HttpResponse:
    """Delete every job of the queue, its name having been typed."""
    place = find_place(user=request.user, pool=pool, namespace=namespace, queue=queue)
    need(place, Role.ADMIN)
    unanswered = confirm(request, confirm_empty(queue=place.queue, count=sum(count_states(place=place).values())))
    if unanswered is not None:
        return unanswered
    if wants_undo(request):
        return deferred(request, defer_empty(user=request.user, place=place), back=queue_url(place))
    count = empty_whole_queue(user=request.user, place=place)
    message = ngettext("%(count)d job was deleted.", "%(count)d jobs were deleted.", count) % {"count": count}
    return done(request, message=message, back=queue_url(place), data={"done": count})


@action
def act(request: HttpRequest, pool: str, namespace: str, queue: str) -> HttpResponse:
    """Do something with the selected jobs."""
    place = find_place(user=request.user, pool=pool, namespace=namespace, queue=queue)
    order = OrderForm(request.POST).order()
    back = f"{queue_url(place)}?{write_query(order.state, read_filter(request.POST))}"
    values = request.POST.getlist("job")
    if not values:
        return done(request, message=_("No job was selected."), back=back, data={"done": 0})
    chosen = read_chosen(values)
    asked = confirm_selected(
        order.act, state=order.state, queue=place.queue, count=len(chosen), with_undo=wants_undo(request)
    )
    unanswered = confirm(request, asked, count=len(chosen))
    if unanswered is not None:
        return unanswered
    if order.act is JobAct.DELETE and wants_undo(request):
        row = defer_jobs(user=request.user, place=place, order=order, jobs=chosen)
        return deferred(request, row, back=back)
    count = act_on_jobs(user=request.user, place=place, order=order, jobs=chosen)
    return done(request, message=outcome(count, len(chosen)), back=back, data={"done": count})


@action
def act_on_all(request: HttpRequest, pool: str, namespace: str, queue: str) -> HttpResponse:
    """The next batch of doing something with all jobs of a state, or those that the filter means.

    To a script: `{"done", "looked_at", "size", "cursor", "before_ms"}`; it sends the last two back until `cursor` is
    null.
    """
    place = find_place(user=request.user, pool=pool, namespace=namespace, queue=queue)
    order, wanted = OrderForm(request.POST).order(), read_filter(request.POST)
    back = f"{queue_url(place)}?{write_query(order.state, wanted)}"
    check_act_on_matches(place=place, order=order)
    asked = confirm_all(
        order.act,
        state=order.state,
        queue=place.queue,
        count=count_states(place=place)[order.state],
        is_filtered=wanted != NO_FILTER,
    )
    unanswered = confirm(request, asked)
    if unanswered is not None:
        return unanswered
    if order.act is JobAct.DELETE and wants_undo(request):
        row = defer_matches(user=request.user, place=place, order=order, wanted=wanted)
        return deferred(request, row, back=back)
    batch = act_on_matches(
        user=request.user,
        place=place,
        order=order,
        wanted=wanted,
        after=request.POST.get("after") or None,
        before_ms=whole_number(request.POST.get("before_ms", "")),
        act_id=request.POST.get("run", ""),
    )
    if wants_json(request):
        answer = {"done": batch.done, "looked_at": batch.looked_at, "size": batch.size}
        return JsonResponse(answer | {"cursor": batch.cursor, "before_ms": batch.before_ms})
    message = outcome(batch.done, batch.done)
    if batch.cursor:
        message += " " + _("There may be more: this was the first batch.")
    return done(request, message=message, back=back)


def outcome(count: int, asked: int) -> str:
    """What was done, and that some jobs had moved on meanwhile."""
    message = ngettext("Done: %(count)d job.", "Done: %(count)d jobs.", count) % {"count": count}
    if count < asked:
        rest = asked - count
        left = ngettext(
            "%(rest)d job had changed in the meantime and was skipped.",
            "%(rest)d jobs had changed in the meantime and were skipped.",
            rest,
        )
        message += " " + left % {"rest": rest}
    return message


def queue_url(place: QueuePlace) -> str:
    """The page of the queue."""
    return reverse("dashboard:queue", args=(place.pool, place.namespace, place.queue))
