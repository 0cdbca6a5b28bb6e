"""The steps of the first day on the overview of a new installation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django import template
from django.template.context import Context
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from dashboard.snippets import snippet_context
from queues.services.errors import TaskqError
from queues.services.first_day import FirstStep, is_young, read_first_day

register = template.Library()

_STEPS: Final[Mapping[FirstStep, tuple[Promise, Promise, Promise]]] = {
    FirstStep.TOKEN: (_("Create a token"), _("opens a namespace to clients"), _("a token works")),
    FirstStep.PUBLISH: (_("Publish a job"), _("one request"), _("a job was published")),
    FirstStep.CONSUME: (_("Consume it"), _("get the job with a lease"), _("a job was delivered")),
    FirstStep.ACK: (_("Acknowledge it"), _("the job is done"), _("a job was acked")),
    FirstStep.WORKER: (_("Run a worker"), _("a program that does this all day"), _("a consumer waits for jobs")),
}
"""Title, what it is, what was seen of it."""


@register.filter
def step_title(step: FirstStep) -> Promise:
    """What to do."""
    return _STEPS[step][0]


@register.filter
def step_note(step: FirstStep) -> Promise:
    """What that is."""
    return _STEPS[step][1]


@register.filter
def step_done(step: FirstStep) -> Promise:
    """What was seen of it."""
    return _STEPS[step][2]


@register.inclusion_tag("dashboard/_first_day.html", takes_context=True)
def first_day_of_new_installation(context: Context) -> dict[str, Any]:
    """Steps and code while the installation is new; nothing later, and for those who may not make tokens.

    Of the overview, which is not kept waiting by a pool that did not answer it.
    """
    request: Any = context["request"]
    try:
        is_asked = not context["overview"].visible.away and is_young(user=request.user)
        progress = read_first_day(user=request.user) if is_asked else None
    except TaskqError:
        progress = None
    if progress is None or not progress.is_new:
        return {"progress": None}
    return {"progress": progress, "request": request, **snippet_context(request, namespace=progress.namespace)}
