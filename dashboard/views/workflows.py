"""Workflows: the list, one of them with its graph and its nodes, buttons that cancel it and retry what failed."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.forms.jobs import whole_number
from dashboard.workflow_picture import can_be_drawn, changes_since, picture_of, version_of
from queues.engine import NodeState, Workflow, WorkflowNotFoundError, WorkflowState
from queues.services.errors import InvalidArgumentError
from queues.services.workflows.pages import (
    ShownWorkflow,
    cancel_workflow,
    count_nodes,
    duration_of,
    read_workflow,
    retry_workflow,
    show_workflows,
)

from .decorators import action, confirm_first, done, is_live, page
from .parameters import read_act, read_text

NODES_SHOWN: Final = 50
"""Rows of the table at a time."""


class WorkflowAct(StrEnum):
    """Buttons of a workflow."""

    CANCEL = "cancel"
    RETRY = "retry"


_STATES: Final = frozenset(state.value for state in WorkflowState)
_NODE_STATES: Final = frozenset(state.value for state in NodeState)


@page
def workflows(request: HttpRequest) -> HttpResponse:
    """`?namespace=POOL/NAME&state=...&after=...`; for live.js the part that changes."""
    state = request.GET.get("state", "")
    pool, slash, namespace = read_text(request, "namespace").partition("/")
    view = show_workflows(
        user=request.user,
        place=(pool, namespace) if slash else None,
        state=WorkflowState(state) if state in _STATES else None,
        after=read_text(request, "after"),
    )
    asked = {"namespace": f"{view.pool}/{view.namespace}", "state": state}
    context = {"view": view, "asked": asked, "narrowed": bool(state), "states": list(WorkflowState)}
    return render(request, f"dashboard/{'_workflows' if is_live(request) else 'workflows'}.html", context)


@page
def workflow(request: HttpRequest, pool: str, namespace: str, workflow_id: str) -> HttpResponse:
    """`?q=...&state=...&page=N` of its nodes; for live.js the parts that change, or (`part=nodes`) the table alone."""
    shown = _read(request, pool, namespace, workflow_id)
    one = shown.workflow
    context = {
        "workflow": one,
        "place": {"pool": pool, "namespace": namespace},
        "may_operate": shown.may_operate,
        "counts": count_nodes(one),
        "duration_ms": duration_of(one),
        "version": version_of(one).text,
        "is_drawn": can_be_drawn(one),
        "job_prefix": f"{reverse('dashboard:queues')}{pool}/{namespace}/",
        "node_states": list(NodeState),
        **_chosen_nodes(request, one),
    }
    if not is_live(request):
        return render(request, "dashboard/workflow.html", context)
    part = "_workflow_nodes" if request.GET.get("part") == "nodes" else "_workflow"
    return render(request, f"dashboard/{part}.html", context)


def _read(request: HttpRequest, pool: str, namespace: str, workflow_id: str) -> ShownWorkflow:
    try:
        return read_workflow(user=request.user, pool=pool, namespace=namespace, workflow_id=workflow_id)
    except InvalidArgumentError:  # that is no id of one
        raise WorkflowNotFoundError from None


def _chosen_nodes(request: HttpRequest, one: Workflow) -> dict[str, Any]:
    """The rows of the table that were asked for."""
    text, state = read_text(request, "q"), request.GET.get("state", "")
    wanted = text.lower()
    found = [
        node for node in one.nodes if wanted in node.name.lower() and (state not in _NODE_STATES or node.state == state)
    ]
    pages = max(1, -(-len(found) // NODES_SHOWN))
    number = min(max(1, whole_number(request.GET.get("page", "")) or 1), pages)
    first = (number - 1) * NODES_SHOWN
    rows = found[first : first + NODES_SHOWN]
    place = {"page": number, "pages": pages, "previous": number - 1, "next": number + 1}
    bounds = {"found": len(found), "first": first + 1, "last": first + len(rows)}
    return {"nodes": rows, "asked": {"text": text, "state": state}, **place, **bounds}


@page
def workflow_graph(request: HttpRequest, pool: str, namespace: str, workflow_id: str) -> HttpResponse:
    """The picture as JSON; with `?since=VERSION` what has changed, if this process knows that version."""
    shown = _read(request, pool, namespace, workflow_id)
    if not can_be_drawn(shown.workflow):
        return JsonResponse({"error": _("The workflow is too large to be drawn.")}, status=404)
    return JsonResponse(changes_since(shown.workflow, request.GET.get("since", "")) or picture_of(shown.workflow))


@action
def workflow_act(request: HttpRequest, pool: str, namespace: str, workflow_id: str) -> HttpResponse:
    """`act=cancel|retry`."""
    act = read_act(request, WorkflowAct)
    named = {"pool": pool, "namespace": namespace, "workflow_id": workflow_id}
    back = reverse("dashboard:workflow", kwargs=named)
    if act is WorkflowAct.RETRY:
        count = retry_workflow(user=request.user, **named)
        said = ngettext("%(n)s job runs again.", "%(n)s jobs run again.", count) % {"n": count}
        return done(request, message=said, back=back, data={"jobs": count})
    question = _("Cancel this workflow? Jobs that have not begun are deleted, and those that run are interrupted.")
    unanswered = confirm_first(request, question=question, button=_("Cancel workflow"))
    if unanswered is not None:
        return unanswered
    has_changed = cancel_workflow(user=request.user, **named)
    said = _("The workflow is cancelled.") if has_changed else _("The workflow was cancelled before.")
    return done(request, message=said, back=back)


_ONE: Final = "workflows/<str:pool>/<str:namespace>/<str:workflow_id>/"

urlpatterns = [
    path("workflows/", workflows, name="workflows"),
    path(_ONE, workflow, name="workflow"),
    path(f"{_ONE}graph", workflow_graph, name="workflow_graph"),
    path(f"{_ONE}act", workflow_act, name="workflow_act"),
]
