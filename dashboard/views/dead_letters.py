"""Dead letters: the page with its filter and groups, and what its buttons do, one bounded batch per request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import unquote, urlencode

from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.confirmations import confirm_dead_all, confirm_dead_selected
from dashboard.formatting import number
from dashboard.forms.jobs import without_nul
from queues.services.dead_letters.actions import (
    NEEDED_FOR_ALL,
    NEEDED_FOR_SELECTED,
    DeadBatch,
    DeadVerb,
    act_on_all,
    act_on_selected,
)
from queues.services.dead_letters.filtering import (
    DeadFilter,
    DeadQueues,
    Position,
    find_dead_queues,
    position_of,
    read_filter,
    read_position,
)
from queues.services.dead_letters.respawn_plans import list_respawns
from queues.services.dead_letters.scanning import (
    SCAN_MAX,
    DeadLetter,
    DeadStretch,
    group_letters,
    mark_of,
    read_dead_news,
    read_deliveries,
    scan_dead_letters,
)
from queues.services.deletions import defer_dead_letters, defer_dead_matches
from queues.services.errors import InvalidArgumentError

from .dead_groups import groups_of, names_of, said, triage_of
from .decorators import action, confirm, done, is_confirmed, is_live, page
from .deletions import deferred, own_dead_deletions, wants_undo

NAMES: Final = ("pool", "namespace", "queue", "error", "like", "day")


def filter_of(given: QueryDict) -> DeadFilter:
    """What a query string or a form says. `namespace` may be `POOL/NAMESPACE`. Raises InvalidArgumentError."""
    said = {name: without_nul(given.get(name, "")).strip() for name in NAMES}
    if "/" in said["namespace"]:
        said["pool"], _, said["namespace"] = said["namespace"].partition("/")
    return read_filter(**said)


def fields_of(chosen: DeadFilter) -> dict[str, str]:
    """The filter as parameters; those that are empty left out."""
    day = chosen.day.isoformat() if chosen.day is not None else ""
    values = (chosen.pool, chosen.namespace, chosen.queue, chosen.error, chosen.like, day)
    return {name: value for name, value in zip(NAMES, values, strict=True) if value}


def before_of(given: QueryDict) -> int | None:
    """What died from then on is not meant, ms. Raises InvalidArgumentError."""
    return _moment_of(given, "before_ms")


def since_of(given: QueryDict) -> int:
    """What died from then on is news, ms. Raises InvalidArgumentError."""
    return _moment_of(given, "since_ms") or 0


def _moment_of(given: QueryDict, name: str) -> int | None:
    text = given.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 15):
        raise InvalidArgumentError(f"invalid {name}")
    return int(text)


SELECTED: Final = "selected"
ALL: Final = "all"


@action
def dead_act(request: HttpRequest) -> HttpResponse:
    """`do`: respawn or delete, `-selected` (fields `letter`) or `-all` that the filter means, from `at` on.

    `group`, in the place of `do`: `respawn-all:PATTERN` (percent-encoded), of those that the filter means the ones
    with such errors.
    To a script: `{"message", "done", "looked_at", "left", "at": null at the end, "before_ms", "forbidden"}`, of one
    batch; it sends `at` and `before_ms` back for the next.
    """
    do, _colon, like = request.POST.get("group", request.POST.get("do", "")).partition(":")
    verb, scope = _read_verb(do)
    chosen = filter_of(request.POST)
    back = f"{reverse('dashboard:dead')}?{urlencode(fields_of(chosen))}"
    if like:
        chosen = replace(chosen, like=without_nul(unquote(like)))
    letters = request.POST.getlist("letter")
    if scope == SELECTED and not letters:
        return done(request, message=_("Nothing was selected."), back=back, data={"done": 0, "at": None})
    asks = (verb, scope) != (DeadVerb.RESPAWN, SELECTED)
    if asks and (answer := _confirm(request, verb, scope, chosen, len(letters))) is not None:
        return answer
    if verb is DeadVerb.DELETE and wants_undo(request):
        if scope == SELECTED:
            return deferred(request, defer_dead_letters(user=request.user, letters=letters), back=back)
        return deferred(request, defer_dead_matches(user=request.user, chosen=chosen), back=back)
    run = request.POST.get("run", "")
    if scope == SELECTED:
        count = act_on_selected(user=request.user, verb=verb, letters=letters, act_id=run)
        return done(request, message=_outcome_message(verb, count), back=back, data={"done": count, "at": None})
    batch = act_on_all(
        user=request.user,
        verb=verb,
        chosen=chosen,
        start=read_position(request.POST.get("at", "")),
        before_ms=before_of(request.POST),
        act_id=run,
    )
    return done(request, message=_batch_message(verb, batch), back=back, data=_batch_data(batch))


def _read_verb(text: str) -> tuple[DeadVerb, str]:
    verb, _dash, scope = text.partition("-")
    if verb not in tuple(DeadVerb) or scope not in (SELECTED, ALL):
        raise InvalidArgumentError("invalid do")
    return DeadVerb(verb), scope


def _confirm(
    request: HttpRequest, verb: DeadVerb, scope: str, chosen: DeadFilter, selected: int
) -> HttpResponse | None:
    """What to answer until it is confirmed; the dead letters are counted only to ask."""
    if scope == SELECTED:
        return confirm(request, confirm_dead_selected(count=selected, with_undo=wants_undo(request)), count=selected)
    is_group = "group" in request.POST
    if is_confirmed(request, word=confirm_dead_all(verb, chosen=chosen, count=0, is_group=is_group).word):
        return None
    count = find_dead_queues(user=request.user, chosen=chosen).count
    return confirm(request, confirm_dead_all(verb, chosen=chosen, count=count, is_group=is_group))


def _outcome_message(verb: DeadVerb, count: int) -> str:
    if verb is DeadVerb.DELETE:
        text = ngettext("%(number)s dead letter deleted.", "%(number)s dead letters deleted.", count)
    else:
        text = ngettext("%(number)s dead letter respawned.", "%(number)s dead letters respawned.", count)
    return text % {"number": number(count)}


def _batch_message(verb: DeadVerb, batch: DeadBatch) -> str:
    words = [_outcome_message(verb, batch.done)]
    if batch.position is not None:
        text = ngettext(
            "%(number)s is left to search: repeat the action.",
            "%(number)s are left to search: repeat the action.",
            batch.left,
        )
        words.append(text % {"number": number(batch.left)})
    if batch.forbidden:
        text = _("Skipped in queues where you have no permission: %(number)s.")
        words.append(text % {"number": number(batch.forbidden)})
    return " ".join(words)


def _batch_data(batch: DeadBatch) -> dict[str, int | str | None]:
    return {
        "done": batch.done,
        "looked_at": batch.looked_at,
        "left": batch.left,
        "at": str(batch.position) if batch.position else None,
        "before_ms": batch.before_ms,
        "forbidden": batch.forbidden,
    }


ROWS: Final = 50
"""Dead letters that are shown one by one."""


@page
def dead(request: HttpRequest) -> HttpResponse:
    """The first stretch, in groups, and its first rows; or from `at` on only rows.

    For dead_news.js the part that changes.
    """
    chosen, start = filter_of(request.GET), read_position(request.GET.get("at", ""))
    before_ms = before_of(request.GET)
    dead_queues, found = scan_dead_letters(
        user=request.user, chosen=chosen, start=start, before_ms=before_ms, scan_max=SCAN_MAX
    )
    letters = found.letters[:ROWS]
    is_first = start is None
    groups = groups_of(chosen, dead_queues, found, fields_of(chosen)) if is_first else None
    context = {
        "chosen": chosen,
        "fields": fields_of(chosen),
        "dead_queues": dead_queues,
        "found": found,
        "matched": len(found.letters),
        "groups": groups,
        "triage": triage_of(chosen, dead_queues, groups["errors"]) if groups and chosen.like else (),
        "deliveries": read_deliveries(dead_queues) if is_first and not chosen.day else None,
        "query": urlencode(fields_of(chosen)),
        "dead_url": request.get_full_path(),
        "respawns": list_respawns(user=request.user),
        "rows": _rows(dead_queues, letters),
        "is_later": start is not None,
        "deletions": own_dead_deletions(request),
        "back": f"{reverse('dashboard:dead')}?{urlencode(fields_of(chosen))}",
        "news_query": _news_query(chosen, dead_queues, is_later=start is not None),
        "next": _next(found, letters),
        "may_act": _may(dead_queues, NEEDED_FOR_SELECTED[DeadVerb.RESPAWN]),
        "may_respawn_all": _may(dead_queues, NEEDED_FOR_ALL[DeadVerb.RESPAWN]),
        "may_delete_all": _may(dead_queues, NEEDED_FOR_ALL[DeadVerb.DELETE]),
    }
    return render(request, f"dashboard/{'_dead' if is_live(request) else 'dead'}.html", context)


@page
def dead_news(request: HttpRequest) -> HttpResponse:
    """What died or left since the page was made, for live.js: a line that says so, or nothing."""
    chosen, since_ms = filter_of(request.GET), since_of(request.GET)
    news = read_dead_news(user=request.user, chosen=chosen, since_ms=since_ms, mark=request.GET.get("mark", ""))
    return render(request, "dashboard/_dead_news.html", {"news": news, "query": urlencode(fields_of(chosen))})


@page
def dead_more(request: HttpRequest) -> HttpResponse:
    """The next stretch from `at` on, for dead.js to add to what it shows.

    `{"errors", "queues", "days": [{"key", "html", "count", "first_ms", "last_ms", "example", "url"}], "rows": HTML,
    "looked_at", "matched", "left", "at": null at the end, "before_ms"}`.
    """
    chosen, start = filter_of(request.GET), read_position(request.GET.get("at", ""))
    before_ms = before_of(request.GET)
    dead_queues, found = scan_dead_letters(
        user=request.user, chosen=chosen, start=start, before_ms=before_ms, scan_max=SCAN_MAX
    )
    groups = group_letters(found.letters, before_ms=dead_queues.before_ms)
    base = fields_of(chosen)
    rows = {"rows": _rows(dead_queues, found.letters[:ROWS])}
    return JsonResponse(
        {
            "errors": [said(group, base | {"like": group.key}) for group in groups.errors],
            "queues": [said(group, base | names_of(group)) for group in groups.queues] if chosen.reads_errors else [],
            "days": [said(group, base | {"day": group.key}) for group in groups.days],
            "rows": render_to_string("dashboard/_dead_rows.html", rows, request),
            "looked_at": found.looked_at,
            "matched": len(found.letters),
            "left": found.left,
            "at": str(found.position) if found.position else None,
            "before_ms": dead_queues.before_ms,
        }
    )


def _rows(dead_queues: DeadQueues, letters: Sequence[DeadLetter]) -> list[dict[str, Any]]:
    """Each letter, and whether this person may do something about it."""
    roles = {one.address: one.role for one in dead_queues.queues}
    needed = NEEDED_FOR_SELECTED[DeadVerb.RESPAWN]
    return [{"letter": letter, "may_act": roles[letter.address] >= needed} for letter in letters]


def _may(dead_queues: DeadQueues, needed: int) -> bool:
    return any(one.role >= needed for one in dead_queues.queues)


def _news_query(chosen: DeadFilter, dead_queues: DeadQueues, *, is_later: bool) -> str:
    """A page behind the first is of the moment when the first was made, and does not know of all queues."""
    known = (
        {"since_ms": dead_queues.before_ms}
        if is_later
        else {"since_ms": dead_queues.asked_ms, "mark": mark_of(dead_queues)}
    )
    return urlencode(fields_of(chosen) | known)


def _next(found: DeadStretch, letters: Sequence[DeadLetter]) -> Position | None:
    """Where the next page of rows begins."""
    if len(letters) < len(found.letters):
        return position_of(letters[-1].address, letters[-1].job)
    return found.position


urlpatterns = [
    path("dead/", dead, name="dead"),
    path("dead/more", dead_more, name="dead_more"),
    path("dead/news", dead_news, name="dead_news"),
    path("dead/act", dead_act, name="dead_act"),
]
