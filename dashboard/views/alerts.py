"""Alert channels: a list, a form, one with its latest alerts, a test."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.translation import gettext as _

from dashboard.error_messages import add_input_error
from dashboard.forms.alert import TRANSPORTS, ChannelForm, initial_of
from queues.services.errors import InvalidArgumentError, RoleTooLowError
from queues.services.incidents.alerts.channels import (
    delete_channel,
    list_channels,
    places_to_alert,
    read_channel,
    save_channel,
    send_test,
)

from .decorators import action, confirm_first, done, is_live, page
from .parameters import read_act

INVALID: Final = 400


class ChannelAct(StrEnum):
    """The buttons of a channel's page."""

    TEST = "test"
    DELETE = "delete"


@page
def alerts(request: HttpRequest) -> HttpResponse:
    """All channels that the person may change; for live.js the part that changes."""
    channels = list_channels(user=request.user)
    places = places_to_alert(user=request.user)
    context = {"channels": channels, "may_add": bool(places), "transports": dict(TRANSPORTS)}
    return render(request, f"dashboard/{'_alerts' if is_live(request) else 'alerts'}.html", context)


def alert_new(request: HttpRequest) -> HttpResponse:
    """A form for a new one."""
    return (_create if request.method == "POST" else _show_new)(request)


def alert_edit(request: HttpRequest, pk: int) -> HttpResponse:
    """The same for one that there is, with its latest alerts."""
    return (_save if request.method == "POST" else _show_edit)(request, pk)


@page
def _show_new(request: HttpRequest) -> HttpResponse:
    return _show_form(request, ChannelForm())


@action
def _create(request: HttpRequest) -> HttpResponse:
    form = ChannelForm(request.POST)
    if not form.is_valid():
        return _show_form(request, form)
    pool, _slash, namespace = request.POST.get("namespace", "").partition("/")
    try:
        saved = save_channel(user=request.user, options=form.channel_options(), pool=pool, namespace=namespace)
    except InvalidArgumentError as error:
        add_input_error(form, error)
        return _show_form(request, form)
    return _after_save(request, saved.channel.pk, saved.secret)


@page
def _show_edit(request: HttpRequest, pk: int) -> HttpResponse:
    channel, latest = read_channel(user=request.user, pk=pk)
    if is_live(request):
        return render(request, "dashboard/_alert_latest.html", {"channel": channel, "latest": latest})
    return _show_form(request, ChannelForm(initial=initial_of(channel.options)), pk=pk)


@action
def _save(request: HttpRequest, pk: int) -> HttpResponse:
    read_channel(user=request.user, pk=pk)
    form = ChannelForm(request.POST)
    if not form.is_valid():
        return _show_form(request, form, pk=pk)
    try:
        saved = save_channel(user=request.user, options=form.channel_options(), pk=pk)
    except InvalidArgumentError as error:
        add_input_error(form, error)
        return _show_form(request, form, pk=pk)
    return _after_save(request, pk, saved.secret)


def _after_save(request: HttpRequest, pk: int, secret: str) -> HttpResponse:
    """A new secret is shown in the answer itself: a redirect would have to store it somewhere."""
    if not secret:
        return done(request, message=_("The alert channel is saved."), back=reverse("dashboard:alerts"))
    response = render(request, "dashboard/alert_secret.html", {"secret": secret, "pk": pk})
    response["Cache-Control"] = "no-store"
    return response


@action
def act(request: HttpRequest, pk: int) -> HttpResponse:
    """`act=test|delete`."""
    chosen = read_act(request, ChannelAct)
    if chosen is ChannelAct.TEST:
        send_test(user=request.user, pk=pk)
        back = reverse("dashboard:alert_edit", args=[pk])
        return done(request, message=_("A test is being sent; its outcome is shown below."), back=back)
    read_channel(user=request.user, pk=pk)
    unanswered = confirm_first(request, question=_("Delete this alert channel?"), button=_("Delete alert channel"))
    if unanswered is not None:
        return unanswered
    delete_channel(user=request.user, pk=pk)
    return done(request, message=_("The alert channel is deleted."), back=reverse("dashboard:alerts"))


def _show_form(request: HttpRequest, form: ChannelForm, pk: int | None = None) -> HttpResponse:
    places = places_to_alert(user=request.user)
    if pk is None and not places:
        raise RoleTooLowError
    context: dict[str, Any] = {"form": form, "pk": pk, "places": places}
    if pk is not None:
        context["channel"], context["latest"] = read_channel(user=request.user, pk=pk)
    status = INVALID if form.is_bound and form.errors else 200
    return render(request, "dashboard/alert_form.html", context, status=status)


urlpatterns = [
    path("alerts/", alerts, name="alerts"),
    path("alerts/new", alert_new, name="alert_new"),
    path("alerts/<int:pk>/", alert_edit, name="alert_edit"),
    path("alerts/<int:pk>/act", act, name="alert_act"),
]
