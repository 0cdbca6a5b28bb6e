"""Jobs that are published by the clock: the list, one schedule with its history, the form with its preview, buttons."""

from __future__ import annotations

from typing import Any, Final

from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext as _

from dashboard.error_messages import add_input_error, input_message
from dashboard.forms.jobs import whole_number
from dashboard.forms.schedule import PreviewForm, ScheduleForm, initial_of
from queues.services.errors import InvalidArgumentError, ScheduleTakenError
from queues.services.permissions import Role
from queues.services.schedules.editing import ScheduleAct, act_on_schedule, check_may_edit, preview, save_schedule
from queues.services.schedules.reading import ScheduleFilter, show_schedule, show_schedules
from queues.services.schedules.values import FireOutcome, ScheduleFields, ScheduleSource, ScheduleState

from .decorators import action, confirm_first, done, is_live, page
from .parameters import read_act, read_namespace, read_text

INVALID: Final = 400
BODY_SHOWN: Final = 16 * 1024
"""Bytes of a body that the page shows."""

_STATES: Final = frozenset(state.value for state in ScheduleState)
LIVE_FRAGMENTS: Final = {True: "dashboard/_schedules.html", False: "dashboard/schedules.html"}


@page
def schedules(request: HttpRequest) -> HttpResponse:
    """`?namespace=POOL/NAME&q=...&state=...&after=N`; for live.js the part that changes."""
    namespace, text = read_text(request, "namespace"), read_text(request, "q")
    pool, _slash, name = namespace.partition("/")
    state = request.GET.get("state", "")
    chosen = ScheduleFilter(
        pool=pool,
        namespace=name,
        text=text,
        state=ScheduleState(state) if state in _STATES else None,
    )
    view = show_schedules(user=request.user, chosen=chosen, after=whole_number(request.GET.get("after", "")) or 0)
    asked = {"namespace": namespace, "text": text, "state": state}
    context = {"view": view, "asked": asked, "narrowed": any(asked.values()), "states": list(ScheduleState)}
    return render(request, LIVE_FRAGMENTS[is_live(request)], context)


@page
def schedule(request: HttpRequest, pool: str, namespace: str, schedule: str) -> HttpResponse:
    """One of them; for live.js the part that changes."""
    detail, role = show_schedule(user=request.user, pool=pool, namespace=namespace, name=schedule)
    context = {
        "detail": detail,
        "one": detail.schedule,
        "may_operate": role >= Role.OPERATE,
        "body": detail.schedule.fields.body[:BODY_SHOWN].decode("utf-8", "replace"),
    }
    return render(request, f"dashboard/{'_schedule' if is_live(request) else 'schedule'}.html", context)


@page
def schedule_place(request: HttpRequest) -> HttpResponse:
    """`?namespace=POOL/NAME`: leads to the form for a new one there."""
    place = read_namespace(request)
    return redirect("dashboard:schedules") if place is None else redirect("dashboard:schedule_new", *place)


def schedule_new(request: HttpRequest, **named: str) -> HttpResponse:
    """A form for a new one."""
    return (_create if request.method == "POST" else _show_new)(request, **named)


def schedule_edit(request: HttpRequest, **named: str) -> HttpResponse:
    """The same for one that there is."""
    return (_save if request.method == "POST" else _show_edit)(request, **named)


@page
def schedule_preview(request: HttpRequest) -> HttpResponse:
    """The next fires of what a form says: a fragment for schedules.js."""
    return render(request, "dashboard/_schedule_preview.html", _previewed(PreviewForm(request.GET)))


@page
def _show_new(request: HttpRequest, /, **named: str) -> HttpResponse:
    check_may_edit(user=request.user, **named)
    return _show_form(request, ScheduleForm(is_new=True), named)


@action
def _create(request: HttpRequest, /, **named: str) -> HttpResponse:
    check_may_edit(user=request.user, **named)
    form = ScheduleForm(request.POST, is_new=True)
    if "preview" in request.POST or not form.is_valid():
        return _show_form(request, form, named)
    return _save_form(request, form, named, form.cleaned_data["name"])


@page
def _show_edit(request: HttpRequest, /, **named: str) -> HttpResponse:
    fields = _editable(request, named)
    return _show_form(request, ScheduleForm(initial=initial_of(fields)), named)


@action
def _save(request: HttpRequest, /, **named: str) -> HttpResponse:
    _editable(request, named)
    form = ScheduleForm(request.POST)
    if "preview" in request.POST or not form.is_valid():
        return _show_form(request, form, named)
    return _save_form(request, form, named, named["schedule"])


@action
def schedule_act(request: HttpRequest, pool: str, namespace: str, schedule: str) -> HttpResponse:
    """`act=pause|resume|run|delete`."""
    act = read_act(request, ScheduleAct)
    named = {"pool": pool, "namespace": namespace, "schedule": schedule}
    check_may_edit(user=request.user, pool=pool, namespace=namespace)
    if act is ScheduleAct.DELETE:
        question = _("Delete this schedule and its history? Its jobs stay.")
        unanswered = confirm_first(request, question=question, button=_("Delete schedule"))
        if unanswered is not None:
            return unanswered
    fire = act_on_schedule(user=request.user, pool=pool, namespace=namespace, name=schedule, act=act)
    back = reverse("dashboard:schedules") if act is ScheduleAct.DELETE else reverse("dashboard:schedule", kwargs=named)
    message = _message_of(act)
    if fire is not None and fire.outcome is FireOutcome.SKIPPED:
        message = _("Skipped: the job before is still there.")
    elif fire is not None and fire.outcome is FireOutcome.FAILED:
        message = _("Its job cannot be published: see the history.")
    return done(request, message=message, back=back, data={"job_id": fire.job_id} if fire else None)


def _message_of(act: ScheduleAct) -> str:
    said = {
        ScheduleAct.PAUSE: _("Paused: it does not fire until it is resumed."),
        ScheduleAct.RESUME: _("Resumed: it fires when it is due next."),
        ScheduleAct.RUN: _("Fired: its job is published."),
        ScheduleAct.DELETE: _("The schedule is deleted."),
    }
    return said[act]


def _editable(request: HttpRequest, named: dict[str, str]) -> ScheduleFields:
    """What the schedule is, if this person may edit it, and if no code declares it."""
    check_may_edit(user=request.user, pool=named["pool"], namespace=named["namespace"])
    detail, _role = show_schedule(
        user=request.user, pool=named["pool"], namespace=named["namespace"], name=named["schedule"]
    )
    if detail.schedule.source is ScheduleSource.CODE:
        raise ScheduleTakenError("the schedule is declared in code")
    return detail.schedule.fields


def _save_form(request: HttpRequest, form: ScheduleForm, named: dict[str, str], name: str) -> HttpResponse:
    pool, namespace, is_new = named["pool"], named["namespace"], "schedule" not in named
    try:
        save_schedule(
            user=request.user,
            pool=pool,
            namespace=namespace,
            name=name,
            fields=form.schedule_fields(),
            only_new=is_new,
        )
    except InvalidArgumentError as error:
        add_input_error(form, error)
        return _show_form(request, form, named)
    except ScheduleTakenError:
        form.add_error("name" if is_new else None, _("A schedule with this name already exists."))
        return _show_form(request, form, named)
    back = reverse("dashboard:schedule", kwargs={"pool": pool, "namespace": namespace, "schedule": name})
    return done(request, message=_("The schedule is saved."), back=back)


def _show_form(request: HttpRequest, form: Form, named: dict[str, str]) -> HttpResponse:
    shown = form.data if form.is_bound else {**_defaults(), **form.initial}
    context = {"form": form, "named": named, **_previewed(PreviewForm(_as_sent(shown)))}
    is_wrong = form.is_bound and bool(form.errors) and "preview" not in request.POST
    return render(request, "dashboard/schedule_form.html", context, status=INVALID if is_wrong else 200)


def _defaults() -> dict[str, Any]:
    return {"kind": "cron", "zone": "UTC", "unit": "60"}


def _as_sent(shown: Any) -> dict[str, str]:
    """What a form would send of its fields of timing."""
    given = {name: shown.get(name) for name in PreviewForm.declared_fields}
    return {name: "" if value is None else str(value) for name, value in given.items()}


def _previewed(form: PreviewForm) -> dict[str, Any]:
    """For the template of the preview: the next fires, or what is wrong; neither while nothing has been said."""
    kind = form.data.get("kind", "")
    if not form.data.get({"interval": "every", "once": "at"}.get(kind, "cron")):
        return {"preview": None, "preview_error": ""}
    if not form.is_valid():
        return {"preview": None, "preview_error": _("Something in the form cannot be read.")}
    fields = form.schedule_fields()
    try:
        return {"preview": preview(fields=fields), "preview_error": "", "preview_zone": fields.zone}
    except InvalidArgumentError as error:
        return {"preview": None, "preview_error": str(input_message(error).words)}


_THERE: Final = "schedules/<str:pool>/<str:namespace>/"
_ONE: Final = f"{_THERE}<str:schedule>/"

urlpatterns = [
    path("schedules/", schedules, name="schedules"),
    path("schedules/new", schedule_place, name="schedule_place"),
    path("schedules/preview", schedule_preview, name="schedule_preview"),
    path(f"{_THERE}new", schedule_new, name="schedule_new"),
    path(_ONE, schedule, name="schedule"),
    path(f"{_ONE}edit", schedule_edit, name="schedule_edit"),
    path(f"{_ONE}act", schedule_act, name="schedule_act"),
]
