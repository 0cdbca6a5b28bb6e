"""All queues that the person may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from queues.services.queues.listing import NAME, SORT_KEYS, STATES, QueueFilter, list_queue_rows

from .decorators import is_live, page
from .parameters import read_text

PAGE_MAX: Final = 1_000_000

GROUPS: Final[tuple[tuple[Promise | str, tuple[tuple[str, Promise | str], ...]], ...]] = (
    (
        _("Jobs"),
        (
            ("ready", _("Ready")),
            ("oldest", _("Oldest")),
            ("delayed", _("Delayed")),
            ("retry", _("Retry")),
            ("working", _("Working")),
            ("dead", _("Dead")),
            ("completed", _("Completed")),
        ),
    ),
    (
        _("Per second"),
        (("published", _("Published")), ("consumed", _("Consumed")), ("acked", _("Acked")), ("failed", _("Failed"))),
    ),
    (_("Wait, last 5 min"), (("wait_p50", "p50"), ("wait_p95", "p95"), ("wait_p99", "p99"))),
    (_("Run, last 5 min"), (("run_p50", "p50"), ("run_p95", "p95"), ("run_p99", "p99"))),
)
"""The columns of numbers, by group."""

STATE_NAMES: Final = (
    ("attention", _("With incidents")),
    ("paused", _("Paused")),
    ("ready", _("With ready jobs")),
    ("delayed", _("With delayed jobs")),
    ("retry", _("With jobs to retry")),
    ("working", _("At work")),
    ("dead", _("With dead letters")),
    ("completed", _("With completed jobs")),
    ("blocked", _("With blocked jobs")),
    ("grouped", _("With groups that fill")),
    ("idle", _("Idle")),
)
assert {name for name, _title in STATE_NAMES} == STATES.keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column that can be sorted by. `sort`: what a click asks for; `order`: "ascending", "descending" or ""."""

    key: str
    title: Promise | str
    sort: str
    order: str
    begins_group: bool = False


@page
def queues(request: HttpRequest) -> HttpResponse:
    """`?q=&namespace=POOL/NAME&state=&sort=[-]COLUMN&page=N`; for live.js the part that changes."""
    wanted = _read(request)
    context = {
        "list": list_queue_rows(user=request.user, wanted=wanted),
        "wanted": wanted,
        "narrowed": bool(wanted.text or wanted.namespace or wanted.state),
        "states": STATE_NAMES,
        "groups": [(title, len(names)) for title, names in GROUPS],
        "name_column": _column(wanted, NAME, _("Queue")),
        "columns": _columns(wanted),
    }
    return render(request, f"dashboard/{'_queues' if is_live(request) else 'queues'}.html", context)


def _read(request: HttpRequest) -> QueueFilter:
    """What is not understood is as if it was not there: such a link still shows something."""
    sort = request.GET.get("sort", "")
    state = request.GET.get("state", "")
    number = request.GET.get("page", "")
    key = sort.removeprefix("-")
    return QueueFilter(
        text=read_text(request, "q"),
        namespace=request.GET.get("namespace", ""),
        state=state if state in STATES else "",
        sort=key if key in SORT_KEYS else NAME,
        descending=sort.startswith("-") and key in SORT_KEYS,
        page=min(int(number), PAGE_MAX) if number.isascii() and number.isdigit() and len(number) < 9 else 1,
    )


def _columns(wanted: QueueFilter) -> Sequence[Column]:
    return [
        _column(wanted, key, title, begins_group=index == 0)
        for _title, names in GROUPS
        for index, (key, title) in enumerate(names)
    ]


def _column(wanted: QueueFilter, key: str, title: Promise | str, *, begins_group: bool = False) -> Column:
    """Names sort upwards first, numbers downwards."""
    order = ("descending" if wanted.descending else "ascending") if wanted.sort == key else ""
    downwards = order == "ascending" or (order == "" and key != NAME)
    return Column(key=key, title=title, sort=f"-{key}" if downwards else key, order=order, begins_group=begins_group)


urlpatterns = [path("queues/", queues, name="queues")]
