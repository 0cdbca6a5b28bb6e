"""Undoes and repeats deletions, and says which ones of a queue can be undone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.formatting import number
from queues.services.deletions import KEPT, UNDO_S, Deletion, deletions_of_dead_letters, retry_deletion, undo_deletion

from .decorators import action, done, wants_json

_SINCE: Final = "dead_letters_deleted_at"


def wants_undo(request: HttpRequest) -> bool:
    """Whether the form is one of those whose deletions wait until they can no longer be undone."""
    return request.POST.get("undo") == "yes"


def deferred(request: HttpRequest, row: Deletion, *, back: str) -> HttpResponse:
    """The answer to a deletion that waits. The page that `back` leads to shows it, with its button to undo it."""
    text = ngettext(
        "%(count)s job will be deleted in %(seconds)s s.", "%(count)s jobs will be deleted in %(seconds)s s.", row.count
    )
    message = text % {"count": number(row.count), "seconds": UNDO_S}
    if not row.queue:
        request.session[_SINCE] = time.time()
    if wants_json(request):
        return done(request, message=message, back=back, data={"done": 0, "deletion": row.pk, "at": None})
    return redirect(back)


def own_dead_deletions(request: HttpRequest) -> list[Deletion]:
    """Those of dead letters that this browser has asked for lately. The session says whether to look at all."""
    if request.session.get(_SINCE, 0) < time.time() - KEPT.total_seconds():
        return []
    return deletions_of_dead_letters(user=request.user)


def deleting(rows: Sequence[Deletion], state: str) -> dict[str, Any]:
    """Which rows of a list of jobs in `state` are to be deleted: their ids, or all of them."""
    waiting = [row for row in rows if row.phase != "failed"]
    return {
        "deleting_ids": {job_id for row in waiting if row.job_state == state for job_id in row.request.get("ids", ())},
        "deletes_all": any(
            row.kind == "queue" or (row.kind == "matches" and row.job_state == state and not row.is_filtered)
            for row in waiting
        ),
    }


@action
def undo(request: HttpRequest, pk: int) -> HttpResponse:
    """Keep the jobs, unless their deletion has begun."""
    was_undone = undo_deletion(user=request.user, pk=pk)
    message = _("Undone: no job was deleted.") if was_undone else _("Too late: the deletion has begun.")
    return done(request, message=message, back=reverse("dashboard:overview"), data={"undone": was_undone})


@action
def retry(request: HttpRequest, pk: int) -> HttpResponse:
    """Look once more through the pools that did not answer."""
    was_left_out = retry_deletion(user=request.user, pk=pk)
    message = _("The deletion goes on.") if was_left_out else _("Nothing is left of this deletion.")
    return done(request, message=message, back=reverse("dashboard:overview"), data={"retried": was_left_out})


urlpatterns = [
    path("deletions/<int:pk>/undo", undo, name="deletion_undo"),
    path("deletions/<int:pk>/retry", retry, name="deletion_retry"),
]
