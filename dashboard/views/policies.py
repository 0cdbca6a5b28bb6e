"""Policies: the list, the form of a queue's or a namespace's policy, and the picture of a backoff."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.translation import gettext as _

from dashboard.backoff_picture import draw_backoff
from dashboard.error_messages import error_message, is_explained
from dashboard.forms.backoff import KINDS, BackoffForm
from dashboard.forms.queue import PolicyForm
from queues.services.errors import TaskqError
from queues.services.namespaces.reading import show_policies
from queues.services.permissions import Role, role_in
from queues.services.policies import ALL_QUEUES, EffectivePolicy, inherited_policy, policy_for
from queues.services.queues.actions import need, read_own_policy, save_own_policy
from queues.services.queues.page import QueuePlace

from .decorators import action, done, page
from .parameters import read_text

INVALID: Final = 400


@page
def policies(request: HttpRequest) -> HttpResponse:
    """`?q=`: every policy that was set."""
    text = read_text(request, "q")
    return render(
        request, "dashboard/policies.html", {"policies": show_policies(user=request.user, text=text), "text": text}
    )


def namespace_policy(request: HttpRequest, **named: str) -> HttpResponse:
    """What all queues of the namespace inherit."""
    return (_save if request.method == "POST" else _show)(request, **named)


@page
def _show(request: HttpRequest, /, **named: str) -> HttpResponse:
    return show_policy_form(request, _place(request, named))


@action
def _save(request: HttpRequest, /, **named: str) -> HttpResponse:
    return save_policy_form(request, _place(request, named))


@page
def backoff_preview(request: HttpRequest, pool: str, namespace: str) -> HttpResponse:
    """`?queue=&backoff=TEXT&tries=`, or `kind`, `base`, `cap`, `failures_only`: a fragment for policies.js."""
    role_in(user=request.user, pool=pool, namespace=namespace)
    inherited = _inherited(pool, namespace, read_text(request, "queue"))
    return render(request, "dashboard/_backoff_picture.html", _drawn(pool, inherited, BackoffForm(request.GET)))


def show_policy_form(request: HttpRequest, place: QueuePlace) -> HttpResponse:
    """With what was set; raises RoleTooLowError."""
    need(place, Role.ADMIN)
    own = dict(read_own_policy(place=place))
    inherited = _inherited(place.pool, place.namespace, place.queue)
    return _render(request, place, PolicyForm(initial=own, inherited=inherited), inherited)


def save_policy_form(request: HttpRequest, place: QueuePlace) -> HttpResponse:
    """Set what was sent, or say what is wrong; raises RoleTooLowError."""
    need(place, Role.ADMIN)
    inherited = _inherited(place.pool, place.namespace, place.queue)
    form = PolicyForm(request.POST, inherited=inherited)
    if not form.is_valid():
        return _render(request, place, form, inherited)
    wrong = save_own_policy(user=request.user, place=place, values=form.cleaned_data)
    for field, texts in wrong.items():
        for text in texts:
            form.add_error(field if field in form.fields else None, text)
    if wrong:
        return _render(request, place, form, inherited)
    return done(request, message=_("The policy is saved."), back=_back(place))


def _render(request: HttpRequest, place: QueuePlace, form: PolicyForm, inherited: EffectivePolicy) -> HttpResponse:
    shown = form.data if form.is_bound else form.initial
    picked = {name: str(shown.get(name) or "") for name in ("backoff", "tries")}
    context = {
        "place": place,
        "form": form,
        "policy": policy_for(pool=place.pool, namespace=place.namespace, queue=place.queue),
        "back": _back(place),
        "backoff_kinds": KINDS,
        **_drawn(place.pool, inherited, BackoffForm(picked)),
    }
    template = "dashboard/queue_policy.html" if place.queue else "dashboard/namespace_policy.html"
    return render(request, template, context, status=INVALID if form.is_bound and form.errors else 200)


def _drawn(pool: str, inherited: EffectivePolicy, form: BackoffForm) -> dict[str, Any]:
    """For the template of the picture: when the attempts come, or what is wrong."""
    if not form.is_valid():
        texts = [str(text) for texts in form.errors.values() for text in texts]
        return {"backoff_error": " ".join(texts)}
    chosen, tries = form.chosen(), form.cleaned_data["tries"] or inherited.tries or 1
    backoff = chosen or inherited.backoff
    assert backoff is not None  # DEFAULTS have one
    try:
        picture = draw_backoff(pool=pool, backoff=backoff, tries=tries)
    except TaskqError as error:
        if not is_explained(error):
            raise
        return {"backoff_error": error_message(error)}
    return {"picture": picture, "backoff_text": str(chosen or ""), "is_inherited": chosen is None}


def _inherited(pool: str, namespace: str, queue: str) -> EffectivePolicy:
    return inherited_policy(pool=pool, namespace=namespace, queue=queue)


def _place(request: HttpRequest, named: dict[str, str]) -> QueuePlace:
    """All queues of the namespace."""
    return QueuePlace(queue=ALL_QUEUES, role=role_in(user=request.user, **named), **named)


def _back(place: QueuePlace) -> str:
    if place.queue:
        return reverse("dashboard:queue", args=[place.pool, place.namespace, place.queue])
    return reverse("dashboard:namespace", args=[place.pool, place.namespace])


_THERE: Final = "namespaces/<str:pool>/<str:namespace>/"

urlpatterns = [
    path("policies/", policies, name="policies"),
    path(f"{_THERE}policy", namespace_policy, name="namespace_policy"),
    path(f"{_THERE}backoff", backoff_preview, name="backoff_preview"),
]
