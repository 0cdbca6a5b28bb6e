"""What is filled in on a page of its own: publish a job, edit the policy."""

from __future__ import annotations

from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from dashboard.forms.policy import PolicyForm
from dashboard.forms.publish import PublishForm
from dashboard.mistakes import mistake_of
from queues.engine.errors import InvalidArgumentError
from queues.services.permissions import Role
from queues.services.policies import policy_for
from queues.services.queues.actions import need, publish_by_hand, read_own_policy, save_own_policy
from queues.services.queues.page import QueuePlace, find_place

from .access import action, done, page

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
    return _show(request, place, "publish", PublishForm())


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
        mistake = mistake_of(error)
        form.add_error(mistake.field if mistake.field in form.fields else None, str(mistake.words))
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
    return done(request, message=_("The policy is saved."), back=_queue_url(place))


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


def _queue_url(place: QueuePlace) -> str:
    return reverse("dashboard:queue", kwargs=_names(place))
