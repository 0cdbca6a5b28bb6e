"""The list of queues: filter, order, columns, and views of it that a user keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard.queue_columns import COLUMNS, DEFAULT, Cell, Column, choose_columns
from queues.services.queues.listing import NAME, SEVERITY, SORT_KEYS, STATES, QueueFilter, QueueList, list_queue_rows
from queues.services.saved_views import delete_view, list_views, save_view

from .decorators import action, done, is_live, keep_last_numbers, page
from .parameters import read_text_of

PAGE: Final = "queues"
"""What the saved views are views of."""

PAGE_MAX: Final = 1_000_000
QUERY_MAX: Final = 8_000
NAMESPACE_MAX: Final = 600
"""Characters of `pool/name`."""
COLUMNS_COOKIE: Final = "taskq_queue_columns"
COLUMNS_COOKIE_S: Final = 365 * 86_400

STATE_NAMES: Final = (
    ("attention", _("With incidents")),
    ("paused", _("Paused")),
    ("ready", _("With ready jobs")),
    ("delayed", _("With delayed jobs")),
    ("retry", _("With jobs to retry")),
    ("working", _("With working jobs")),
    ("dead", _("With dead letters")),
    ("completed", _("With completed jobs")),
    ("blocked", _("With blocked jobs")),
    ("grouped", _("With open groups")),
    ("idle", _("Idle")),
)
assert {name for name, _title in STATE_NAMES} == STATES.keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """That of a column. `sort`: what a click asks for; `order`: "ascending", "descending" or ""."""

    key: str
    title: Promise | str
    about: Promise | str
    kind: str
    sort: str
    order: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A tab above the list: an address, and whether it is this one. `is_own`: the user made it, and may delete it."""

    name: str
    query: str
    is_current: bool
    is_own: bool


@page
def queues(request: HttpRequest) -> HttpResponse:
    """`?q=&namespace=POOL/NAME&state=&sort=[-]COLUMN&columns=A,B&page=N`; for live.js the part that changes."""
    wanted, keys = _read(request.GET), _columns(request)
    found = list_queue_rows(user=request.user, wanted=wanted)
    keep_last_numbers(request, found.visible)
    columns = [COLUMNS[key] for key in keys]
    context: dict[str, Any] = {
        "list": found,
        "rows": _rows(found, columns),
        "wanted": wanted,
        "name_heading": _heading(wanted, NAME, _("Queue")),
        "headings": [_heading_of(wanted, column) for column in columns],
        "names_namespaces": len(found.visible.namespaces) > 1,
    }
    if is_live(request):
        return render(request, "dashboard/_queues.html", context)
    views = _views(request, wanted, keys)
    context |= {
        "narrowed": bool(wanted.text or wanted.namespace or wanted.state),
        "states": STATE_NAMES,
        "views": views,
        "own_view": next((view for view in views if view.is_current and view.is_own), None),
        "query": _write(wanted, keys),
        "choices": [(column, column.key in keys) for column in COLUMNS.values()],
        "plain_query": _without(request.GET, "columns", "page"),
    }
    return render(request, "dashboard/queues.html", context)


def _read(parameters: QueryDict) -> QueueFilter:
    """What is not understood is as if it was not there: such a link still shows something."""
    sort = parameters.get("sort", "")
    state = parameters.get("state", "")
    number = parameters.get("page", "")
    key = sort.removeprefix("-")
    return QueueFilter(
        text=read_text_of(parameters, "q"),
        namespace=parameters.get("namespace", "")[:NAMESPACE_MAX],
        state=state if state in STATES else "",
        sort=key if key in SORT_KEYS else SEVERITY,
        descending=sort.startswith("-") if key in SORT_KEYS else True,
        page=min(int(number), PAGE_MAX) if number.isascii() and number.isdigit() and len(number) < 9 else 1,
    )


def _columns(request: HttpRequest) -> tuple[str, ...]:
    """Those of the address; else those that were chosen in this browser; else the usual ones."""
    asked = request.GET.get("columns") or request.COOKIES.get(COLUMNS_COOKIE, "")
    return choose_columns(asked.split(",")) or DEFAULT


def _write(wanted: QueueFilter, keys: Sequence[str]) -> str:
    """The query string of a view: what shows the same rows and columns again, in one way of writing it."""
    is_usual = wanted.sort == SEVERITY and wanted.descending
    parts = {
        "q": wanted.text,
        "namespace": wanted.namespace,
        "state": wanted.state,
        "sort": "" if is_usual else f"{'-' if wanted.descending else ''}{wanted.sort}",
        "columns": ",".join(keys),
    }
    return urlencode({name: value for name, value in parts.items() if value}, safe=",/")


def _views(request: HttpRequest, wanted: QueueFilter, keys: Sequence[str]) -> list[View]:
    """Those that everybody has, in the reader's own columns, and the user's."""
    here, bare = _write(wanted, keys), _write(wanted, ())
    usual = (("", gettext("All queues")), ("state=attention", gettext("With incidents")))
    saved = list_views(user=request.user, page=PAGE)
    is_saved = any(view.query == here for view in saved)
    return [
        *(
            View(name=name, query=query, is_current=query == bare and not is_saved, is_own=False)
            for query, name in usual
        ),
        *(View(name=view.name, query=view.query, is_current=view.query == here, is_own=True) for view in saved),
    ]


def _without(parameters: QueryDict, *names: str) -> str:
    left = parameters.copy()
    for name in names:
        left.pop(name, None)
    return left.urlencode()


def _rows(found: QueueList, columns: Sequence[Column]) -> list[tuple[Any, list[tuple[Column, Cell]]]]:
    """Each row with its cells."""
    rows = []
    for row in found.rows:
        minutes = found.trends.get(row.place, ())
        rows.append((row, [(column, column.cell(row, minutes)) for column in columns]))
    return rows


def _heading_of(wanted: QueueFilter, column: Column) -> Heading:
    return _heading(wanted, column.sort, column.title, about=column.about, kind=column.kind, column=column.key)


def _heading(
    wanted: QueueFilter,
    key: str,
    title: Promise | str,
    *,
    about: Promise | str = "",
    kind: str = "text",
    column: str = "",
) -> Heading:
    """Names sort upwards first, all else downwards."""
    order = ("descending" if wanted.descending else "ascending") if key and wanted.sort == key else ""
    downwards = order == "ascending" or (order == "" and key != NAME)
    sort = f"-{key}" if key and downwards else key
    return Heading(key=column or key, title=title, about=about, kind=kind, sort=sort, order=order)


@action
def choose(request: HttpRequest) -> HttpResponse:
    """`column=A&column=B`: show these from now on, in this browser; none, or `act=reset`: the usual ones."""
    keys = choose_columns(request.POST.getlist("column"))
    response = done(request, message=gettext("The columns are kept in this browser."), back=_address(request))
    if keys and request.POST.get("act") != "reset":
        response.set_cookie(
            COLUMNS_COOKIE,
            ",".join(keys),
            max_age=COLUMNS_COOKIE_S,
            httponly=True,
            samesite="Lax",
            secure=settings.SESSION_COOKIE_SECURE,
        )
    else:
        response.delete_cookie(COLUMNS_COOKIE, samesite="Lax")
    return response


@action
def save(request: HttpRequest) -> HttpResponse:
    """`name=&query=`: keep the filter, the order and the columns of that address under a name."""
    parameters = QueryDict(request.POST.get("query", "")[:QUERY_MAX])
    keys = choose_columns(parameters.get("columns", "").split(",")) or DEFAULT
    query = _write(_read(parameters), keys)
    name = save_view(user=request.user, page=PAGE, name=request.POST.get("name", ""), query=query)
    back = f"{reverse('dashboard:queues')}?{query}"
    return done(request, message=gettext("The view “%(name)s” is saved.") % {"name": name}, back=back)


@action
def delete(request: HttpRequest) -> HttpResponse:
    """`name=`: forget a view."""
    name = request.POST.get("name", "")
    delete_view(user=request.user, page=PAGE, name=name)
    message = gettext("The view “%(name)s” is deleted.") % {"name": name}
    return done(request, message=message, back=_address(request))


def _address(request: HttpRequest) -> str:
    """The list as it was, but for what was changed: `query` of the form."""
    query = _without(QueryDict(request.POST.get("query", "")[:QUERY_MAX]), "columns")
    return f"{reverse('dashboard:queues')}?{query}" if query else reverse("dashboard:queues")


urlpatterns = [
    path("queues/", queues, name="queues"),
    path("queues/columns", choose, name="queue_columns"),
    path("queues/views/save", save, name="queue_view_save"),
    path("queues/views/delete", delete, name="queue_view_delete"),
]
