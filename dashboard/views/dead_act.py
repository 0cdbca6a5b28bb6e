"""What the buttons of the dead letters do: one bounded batch per request."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.templatetags.taskq import number
from queues.services.dead_letters.actions import DeadBatch, DeadVerb, act_on_all, act_on_selected
from queues.services.dead_letters.places import read_position
from queues.services.errors import InvalidArgumentError

from .access import action, done
from .confirming import confirm_first
from .dead_filter import before_of, fields_of, filter_of

SELECTED: Final = "selected"
ALL: Final = "all"


@action
def dead_act(request: HttpRequest) -> HttpResponse:
    """`do`: respawn or delete, `-selected` (fields `letter`) or `-all` that the filter means, from `at` on.

    To a script: `{"message", "done", "looked_at", "left", "at": null at the end, "before_ms", "forbidden"}`, of one
    batch; it sends `at` and `before_ms` back for the next.
    """
    verb, scope = _read(request.POST.get("do", ""))
    chosen = filter_of(request.POST)
    back = f"{reverse('dashboard:dead')}?{urlencode(fields_of(chosen))}"
    letters = request.POST.getlist("letter")
    if scope == SELECTED and not letters:
        return done(request, message=_("Nothing was selected."), back=back, data={"done": 0, "at": None})
    if (verb, scope) != (DeadVerb.RESPAWN, SELECTED):
        question = _question(verb, scope, len(letters))
        if (answer := confirm_first(request, question=question)) is not None:
            return answer
    run = request.POST.get("run", "")
    if scope == SELECTED:
        count = act_on_selected(user=request.user, verb=verb, letters=letters, run=run)
        return done(request, message=_outcome(verb, count), back=back, data={"done": count, "at": None})
    batch = act_on_all(
        user=request.user,
        verb=verb,
        chosen=chosen,
        start=read_position(request.POST.get("at", "")),
        before_ms=before_of(request.POST),
        run=run,
    )
    return done(request, message=_words(verb, batch), back=back, data=_data(batch))


def _read(text: str) -> tuple[DeadVerb, str]:
    verb, _dash, scope = text.partition("-")
    if verb not in tuple(DeadVerb) or scope not in (SELECTED, ALL):
        raise InvalidArgumentError("invalid do")
    return DeadVerb(verb), scope


def _question(verb: DeadVerb, scope: str, count: int) -> str:
    if scope == SELECTED:
        text = ngettext("Delete %(count)d dead letter for ever?", "Delete %(count)d dead letters for ever?", count)
        return text % {"count": count}
    if verb is DeadVerb.DELETE:
        return _("Delete all dead letters that the filter matches, for ever?")
    return _("Respawn all dead letters that the filter matches?")


def _outcome(verb: DeadVerb, count: int) -> str:
    if verb is DeadVerb.DELETE:
        text = ngettext("%(number)s dead letter deleted.", "%(number)s dead letters deleted.", count)
    else:
        text = ngettext("%(number)s dead letter respawned.", "%(number)s dead letters respawned.", count)
    return text % {"number": number(count)}


def _words(verb: DeadVerb, batch: DeadBatch) -> str:
    words = [_outcome(verb, batch.done)]
    if batch.position is not None:
        text = ngettext(
            "%(number)s is yet to be looked at: do it again.",
            "%(number)s are yet to be looked at: do it again.",
            batch.left,
        )
        words.append(text % {"number": number(batch.left)})
    if batch.forbidden:
        text = _("Those in queues where you may not do this were left alone: %(number)s.")
        words.append(text % {"number": number(batch.forbidden)})
    return " ".join(words)


def _data(batch: DeadBatch) -> dict[str, int | str | None]:
    return {
        "done": batch.done,
        "looked_at": batch.looked_at,
        "left": batch.left,
        "at": str(batch.position) if batch.position else None,
        "before_ms": batch.before_ms,
        "forbidden": batch.forbidden,
    }
