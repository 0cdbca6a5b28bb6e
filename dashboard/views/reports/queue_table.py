"""The table of queues: what its address says, and its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from django.http import HttpRequest, QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from queues.services.reporting.presenting.queue_list import DEFAULT_SORT, SORTS, Only, QueueFilter
from queues.services.reporting.presenting.tables import QUEUES, Output, kind_of

from ..parameters import read_text
from .scopes import ReportScope

PAGE_MAX: Final = 1_000_000
NAME: Final = "queue"

GROUPS: Final = (_("Jobs"), _("Wait"), _("Run"), _("Judged"))
"""Titles of the groups of columns, in order."""

COMPARED: Final = (
    ("published", _("Published")),
    ("failed", _("Failed")),
    ("dead", _("Dead")),
    ("success_rate", _("Success")),
    ("wait_p95", _("Wait p95")),
    ("run_p95", _("Run p95")),
)
"""The figures of two days side by side: key, title."""

ONLY: Final = (
    (Only.MISSED, _("Objective missed")),
    (Only.FLAGGED, _("Out of line")),
    (Only.FAILING, _("Failing")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """`sort`: what a click asks for; `order`: "ascending", "descending" or ""."""

    key: str
    title: Promise | str
    unit: str
    sort: str
    order: str
    begins_group: bool = False


def read_filter(request: HttpRequest, scope: ReportScope) -> QueueFilter:
    """`?q=&only=&sort=[-]COLUMN`. What is not understood is as if it was not there."""
    sort, only = request.GET.get("sort", ""), request.GET.get("only", "")
    key = sort.removeprefix("-")
    is_known = key in SORTS
    return QueueFilter(
        pool=scope.pool,
        namespace=scope.namespace,
        text=read_text(request, "q"),
        only=Only(only) if only in list(Only) else Only.ALL,
        sort=key if is_known else DEFAULT_SORT,
        is_descending=sort.startswith("-") if is_known else True,
    )


def read_page(query: QueryDict) -> int:
    """From 1 on."""
    text = query.get("page", "")
    return min(int(text), PAGE_MAX) if text.isascii() and text.isdigit() and len(text) < 9 else 1


def name_column(chosen: QueueFilter) -> Column:
    return _column(chosen, NAME, _("Queue"))


def columns(chosen: QueueFilter) -> Sequence[Column]:
    """Those of numbers."""
    return [
        _column(chosen, column.key, column.title, begins_group=column.begins_group)
        for column in QUEUES.columns_on(Output.PAGE)
        if column.key
    ]


def groups(shown: Sequence[Column]) -> list[tuple[Promise | str, int]]:
    """Title and width of each group of columns."""
    begins = [scope for scope, column in enumerate(shown) if column.begins_group]
    widths = [end - begin for begin, end in pairwise([*begins, len(shown)])]
    return list(zip(GROUPS, widths, strict=True))


def compared_columns(chosen: QueueFilter) -> Sequence[Column]:
    return [_column(chosen, key, title, unit=kind_of(key), begins_group=True) for key, title in COMPARED]


def _column(
    chosen: QueueFilter, key: str, title: Promise | str, *, unit: str = "jobs", begins_group: bool = False
) -> Column:
    """Names sort upwards first, numbers downwards."""
    order = ("descending" if chosen.is_descending else "ascending") if chosen.sort_column == key else ""
    downwards = order == "ascending" or (order == "" and key != NAME)
    sort = f"-{key}" if downwards else key
    return Column(key=key, title=title, unit=unit, sort=sort, order=order, begins_group=begins_group)
