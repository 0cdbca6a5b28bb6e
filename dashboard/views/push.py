"""Push endpoints: where jobs are delivered to, how that goes, buttons that pause, resume and test, and their form."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.error_messages import add_input_error
from dashboard.forms.jobs import whole_number
from dashboard.forms.push import OVERLAPS, PushForm, initial_of
from queues.services.errors import InvalidArgumentError
from queues.services.permissions import Role
from queues.services.push.actions import PushAct, act_on_endpoint, check_may_edit, check_push_act, edit_endpoint
from queues.services.push.endpoints import OVERLAP_DEFAULT_S, find_endpoint
from queues.services.push.reading import EndpointState, read_endpoint, read_endpoints

from .decorators import action, confirm_first, done, is_live, page
from .parameters import read_act, read_namespace, read_text

INVALID: Final = 400
STATES: Final[dict[EndpointState, tuple[str, Promise]]] = {
    EndpointState.HEALTHY: ("ok", gettext_lazy("delivering")),
    EndpointState.FAILING: ("bad", gettext_lazy("failing")),
    EndpointState.PAUSED: ("warn", gettext_lazy("paused")),
    EndpointState.DISABLED: ("", gettext_lazy("disabled")),
    EndpointState.IDLE: ("info", gettext_lazy("nothing delivered yet")),
}
"""Color and words of each state."""


@page
def push(request: HttpRequest) -> HttpResponse:
    """`?namespace=POOL/NAME&q=...`; for live.js the part that changes."""
    asked = {
        "namespace": request.GET.get("namespace", ""),
        "text": read_text(request, "q"),
    }
    context = {
        "view": read_endpoints(user=request.user, **asked),
        "asked": asked,
        "narrowed": any(asked.values()),
        "states": STATES,
    }
    return render(request, f"dashboard/{'_push' if is_live(request) else 'push'}.html", context)


@page
def endpoint(request: HttpRequest, pool: str, namespace: str, queue: str) -> HttpResponse:
    """One endpoint with its latest deliveries, or (`?show=failures`) those that failed."""
    view = read_endpoint(user=request.user, pool=pool, namespace=namespace, queue=queue)
    only_failures = request.GET.get("show") == "failures"
    context = {
        "view": view,
        "row": view.row,
        "endpoint": view.row.endpoint,
        "deliveries": view.failures if only_failures else view.recent,
        "only_failures": only_failures,
        "may_administer": view.role >= Role.ADMIN,
        "overlaps": OVERLAPS,
        "states": STATES,
    }
    return render(request, f"dashboard/{'_push_endpoint' if is_live(request) else 'push_endpoint'}.html", context)


@action
def act(request: HttpRequest, pool: str, namespace: str, queue: str) -> HttpResponse:
    """`act=pause|resume|test|rotate|delete`; of a rotation, `overlap=SECONDS`.

    A new secret is shown in the answer itself, and kept nowhere.
    """
    chosen = read_act(request, PushAct)
    place = {"pool": pool, "namespace": namespace, "queue": queue}
    check_push_act(user=request.user, **place, act=chosen)
    question, button = _question(chosen)
    unanswered = confirm_first(request, question=question, button=button) if question else None
    if unanswered is not None:
        return unanswered
    overlap_s = whole_number(request.POST.get("overlap", str(OVERLAP_DEFAULT_S)))
    if overlap_s is None:
        raise InvalidArgumentError("invalid overlap")
    secret = act_on_endpoint(user=request.user, **place, act=chosen, overlap_s=overlap_s)
    if secret:
        return show_secret(request, place, secret, overlap_s=overlap_s)
    back = reverse("dashboard:push") if chosen is PushAct.DELETE else reverse("dashboard:push_endpoint", kwargs=place)
    return done(request, message=_message(chosen), back=back)


def _question(act: PushAct) -> tuple[str, str]:
    """What is asked before, and what the button says; two empty texts: nothing."""
    if act is PushAct.DELETE:
        return _("Delete this push endpoint? Its jobs stay in the queue."), _("Delete push endpoint")
    if act is PushAct.ROTATE:
        return _("Make a new secret? The receiver has to be given it."), _("Make new secret")
    return "", ""


def _message(act: PushAct) -> str:
    said = {
        PushAct.PAUSE: _("Paused: jobs wait in the queue."),
        PushAct.RESUME: _("Resumed: jobs are delivered again within two seconds."),
        PushAct.TEST: _("A pusher will send a test request; its outcome is shown below."),
        PushAct.DELETE: _("The push endpoint is deleted."),
    }
    return said[act]


@page
def push_place(request: HttpRequest) -> HttpResponse:
    """`?namespace=POOL/NAME`: leads to the form for a new one there."""
    place = read_namespace(request)
    return redirect("dashboard:push") if place is None else redirect("dashboard:push_new", *place)


def push_new(request: HttpRequest, **named: str) -> HttpResponse:
    """A form for a new one; `?queue=NAME` fills in the queue."""
    return (_create if request.method == "POST" else _show_new)(request, **named)


def push_edit(request: HttpRequest, **named: str) -> HttpResponse:
    """The same for one that there is."""
    return (_save if request.method == "POST" else _show_edit)(request, **named)


@page
def _show_new(request: HttpRequest, /, **named: str) -> HttpResponse:
    check_may_edit(user=request.user, **named)
    return _show_form(request, PushForm(is_new=True, initial={"queue": read_text(request, "queue")}), named)


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
        add_input_error(form, error)
        return _show_form(request, form, named)
    if secret:
        return show_secret(request, place, secret, is_new=True)
    back = reverse("dashboard:push_endpoint", kwargs=place)
    return done(request, message=_("The push endpoint is saved and takes effect within two seconds."), back=back)


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
    path("push/", push, name="push"),
    path(f"{_THERE}<str:queue>/", endpoint, name="push_endpoint"),
    path(f"{_THERE}<str:queue>/act", act, name="push_act"),
    path("push/new", push_place, name="push_place"),
    path(f"{_THERE}new", push_new, name="push_new"),
    path(f"{_THERE}<str:queue>/edit", push_edit, name="push_edit"),
]
