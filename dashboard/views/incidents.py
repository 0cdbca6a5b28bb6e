"""Incidents: those that are open, the history with filters, one with its timeline, and what people do with them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.series import named_series
from queues.services.errors import InvalidArgumentError
from queues.services.incident_watch.visible_incidents import read_open_incidents
from queues.services.incidents.actions import acknowledge_incident, add_note, unacknowledge_incident
from queues.services.incidents.lines import OpenIncidents
from queues.services.incidents.reading import IncidentFilter, list_incidents, read_incident
from queues.services.incidents.wording import kinds, severities
from queues.services.queues.visible_queues import visible_pools

from .decorators import action, done, is_live, page
from .parameters import read_act, read_text

STATES: Final[tuple[tuple[str, Promise], ...]] = (
    ("", gettext_lazy("Open and resolved")),
    ("open", gettext_lazy("Open")),
    ("resolved", gettext_lazy("Resolved")),
)


LISTED: Final = 100
"""Open incidents of one page, the worst first. Filters lead to the others."""


class IncidentAct(StrEnum):
    """What the buttons of an incident's page do."""

    ACKNOWLEDGE = "acknowledge"
    UNACKNOWLEDGE = "unacknowledge"
    NOTE = "note"


@page
def incidents(request: HttpRequest) -> HttpResponse:
    """`?state=open|resolved&kind=&severity=&namespace=POOL/NAME&q=QUEUE&before=ID`.

    Without a filter: the open ones, as the overview has them, and below the history. For live.js the part that changes.
    """
    chosen = _read(request)
    before = _before(request)
    visible = visible_pools(user=request.user)
    wants_open = chosen.state in ("", "open") and before is None
    now_open = _narrow(read_open_incidents(user=request.user, visible=visible), chosen) if wants_open else None
    history = None
    if chosen.state != "open":
        past = IncidentFilter(
            state="resolved",
            kind=chosen.kind,
            severity=chosen.severity,
            namespace=chosen.namespace,
            queue=chosen.queue,
        )
        history = list_incidents(user=request.user, chosen=past, before=before)
    context = {
        "open": now_open,
        "history": history,
        "chosen": chosen,
        "is_filtered": chosen != IncidentFilter(),
        "is_later": before is not None,
        "states": STATES,
        "kinds": kinds(),
        "severities": severities(),
        "namespaces": visible.namespaces,
    }
    return render(request, f"dashboard/{'_incidents' if is_live(request) else 'incidents'}.html", context)


@page
def incident(request: HttpRequest, pk: int) -> HttpResponse:
    """One; for live.js the part that changes."""
    context = {"view": read_incident(user=request.user, pk=pk)}
    return render(request, f"dashboard/{'_incident' if is_live(request) else 'incident'}.html", context)


@page
def incident_chart(request: HttpRequest, pk: int) -> HttpResponse:
    """How many jobs it has concerned over time, for charts.js."""
    view = read_incident(user=request.user, pk=pk)
    data = {
        "title": _("Jobs concerned"),
        "x": {"unit": "time", "values": [at_ms for at_ms, _size in view.points]},
        "y": {"unit": "jobs"},
        "series": [named_series(_("jobs"), [size for _at_ms, size in view.points], style="line")],
        "empty": _("Nothing was recorded in this time."),
    }
    return JsonResponse(data)


@action
def act(request: HttpRequest, pk: int) -> HttpResponse:
    """`act=acknowledge|unacknowledge|note`, `note=TEXT`."""
    chosen = read_act(request, IncidentAct)
    note = request.POST.get("note", "")
    back = reverse("dashboard:incident", args=[pk])
    if chosen is IncidentAct.ACKNOWLEDGE:
        changed = acknowledge_incident(user=request.user, pk=pk, note=note)
        message = _("Acknowledged.") if changed else _("It was acknowledged or resolved already.")
    elif chosen is IncidentAct.UNACKNOWLEDGE:
        unacknowledge_incident(user=request.user, pk=pk)
        message = _("No longer acknowledged.")
    else:
        add_note(user=request.user, pk=pk, note=note)
        message = _("The note is saved.")
    return done(request, message=message, back=back)


def _read(request: HttpRequest) -> IncidentFilter:
    """What is not understood is as if it was not there: such a link still shows something."""
    state = request.GET.get("state", "")
    kind, severity = request.GET.get("kind", ""), request.GET.get("severity", "")
    return IncidentFilter(
        state=state if state in dict(STATES) else "",
        kind=kind if kind in dict(kinds()) else "",
        severity=severity if severity in dict(severities()) else "",
        namespace=read_text(request, "namespace"),
        queue=read_text(request, "q"),
    )


def _narrow(found: OpenIncidents, chosen: IncidentFilter) -> OpenIncidents:
    text = chosen.queue.lower()
    lines = tuple(
        line
        for line in found.lines
        if (not chosen.kind or line.kind == chosen.kind)
        and (not chosen.severity or line.severity == chosen.severity)
        and (not chosen.namespace or f"{line.pool}/{line.namespace}" == chosen.namespace)
        and text in line.queue.lower()
    )
    return OpenIncidents(lines=lines[:LISTED], left_out=found.left_out + len(lines[LISTED:]))


def _before(request: HttpRequest) -> int | None:
    text = request.GET.get("before", "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise InvalidArgumentError("invalid before")
    return int(text)


urlpatterns = [
    path("incidents/", incidents, name="incidents"),
    path("incidents/<int:pk>/", incident, name="incident"),
    path("incidents/<int:pk>/chart", incident_chart, name="incident_chart"),
    path("incidents/<int:pk>/act", act, name="incident_act"),
]
