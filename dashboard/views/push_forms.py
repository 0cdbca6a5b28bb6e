"""The form with which a push endpoint is made or changed. The secret of a new one is shown in the answer, once."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext as _

from dashboard.error_messages import input_message
from dashboard.forms.push import PushForm, initial_of
from queues.services.errors import InvalidArgumentError
from queues.services.push.actions import check_may_edit, edit_endpoint
from queues.services.push.endpoints import find_endpoint

from .decorators import action, done, page

INVALID = 400


@page
def push_place(request: HttpRequest) -> HttpResponse:
    """`?namespace=POOL/NAME`: leads to the form for a new one there."""
    pool, _slash, namespace = request.GET.get("namespace", "").partition("/")
    if not pool or not namespace or "/" in namespace:
        return redirect("dashboard:push")
    return redirect("dashboard:push_new", pool=pool, namespace=namespace)


def push_new(request: HttpRequest, **named: str) -> HttpResponse:
    """A form for a new one; `?queue=NAME` fills in the queue."""
    return (_create if request.method == "POST" else _show_new)(request, **named)


def push_edit(request: HttpRequest, **named: str) -> HttpResponse:
    """The same for one that there is."""
    return (_save if request.method == "POST" else _show_edit)(request, **named)


@page
def _show_new(request: HttpRequest, /, **named: str) -> HttpResponse:
    check_may_edit(user=request.user, **named)
    return _show_form(request, PushForm(is_new=True, initial={"queue": request.GET.get("queue", "")[:255]}), named)


@action
def _create(request: HttpRequest, /, **named: str) -> HttpResponse:
    check_may_edit(user=request.user, **named)
    form = PushForm(request.POST, is_new=True)
    if not form.is_valid():
        return _show_form(request, form, named)
    return _save_form(request, form, named, form.cleaned_data["queue"])


@page
def _show_edit(request: HttpRequest, /, **named: str) -> HttpResponse:
    check_may_edit(user=request.user, pool=named["pool"], namespace=named["namespace"])
    return _show_form(request, PushForm(initial=initial_of(find_endpoint(**named).options)), named)


@action
def _save(request: HttpRequest, /, **named: str) -> HttpResponse:
    check_may_edit(user=request.user, pool=named["pool"], namespace=named["namespace"])
    find_endpoint(**named)
    form = PushForm(request.POST)
    if not form.is_valid():
        return _show_form(request, form, named)
    return _save_form(request, form, named, named["queue"])


def _save_form(request: HttpRequest, form: PushForm, named: dict[str, str], queue: str) -> HttpResponse:
    place = {"pool": named["pool"], "namespace": named["namespace"], "queue": queue}
    options = form.endpoint_options()
    try:
        secret = edit_endpoint(user=request.user, **place, options=options, only_new="queue" not in named)
    except InvalidArgumentError as error:
        wrong = input_message(error)
        form.add_error(wrong.field if wrong.field in form.fields else None, str(wrong.words))
        return _show_form(request, form, named)
    if secret:
        return show_secret(request, place, secret, is_new=True)
    back = reverse("dashboard:push_endpoint", kwargs=place)
    return done(request, message=_("The push endpoint is saved: it holds within two seconds."), back=back)


def _show_form(request: HttpRequest, form: PushForm, named: dict[str, str]) -> HttpResponse:
    status = INVALID if form.is_bound and form.errors else 200
    return render(request, "dashboard/push_form.html", {"form": form, "named": named}, status=status)


def show_secret(
    request: HttpRequest, place: dict[str, str], secret: str, *, is_new: bool = False, overlap_s: int = 0
) -> HttpResponse:
    """The answer that has a secret. A redirect would have to store it somewhere."""
    context = {**place, "secret": secret, "is_new": is_new, "overlap_s": overlap_s}
    response = render(request, "dashboard/push_secret.html", context)
    response["Cache-Control"] = "no-store"
    return response


_THERE = "push/<str:pool>/<str:namespace>/"

urlpatterns = [
    path("push/new", push_place, name="push_place"),
    path(f"{_THERE}new", push_new, name="push_new"),
    path(f"{_THERE}<str:queue>/edit", push_edit, name="push_edit"),
]
