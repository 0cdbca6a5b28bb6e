"""The table of queues: what its address says, and its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from queues.services.reporting.queue_list import DEFAULT_SORT, SORTS, Only, QueueFilter

from .places import Place

TEXT_MAX: Final = 255
PAGE_MAX: Final = 1_000_000
NAME: Final = "queue"

GROUPS: Final[tuple[tuple[Promise | str, tuple[tuple[str, Promise | str], ...]], ...]] = (
    (
        _("Jobs"),
        (
            ("published", _("Published")),
            ("acked", _("Acked")),
            ("failed", _("Failed")),
            ("dead", _("Dead")),
            ("expired", _("Expired")),
            ("backlog", _("Backlog")),
            ("success_rate", _("Success")),
        ),
    ),
    (_("Wait"), (("wait_p50", "p50"), ("wait_p95", "p95"), ("wait_p99", "p99"))),
    (_("Run"), (("run_p50", "p50"), ("run_p95", "p95"), ("run_p99", "p99"))),
    (_("Judged"), (("objective_share", _("In time")), ("flagged", _("Out of line")))),
)
"""The columns of numbers, by group."""

COMPARED: Final = (
    ("published", _("Published"), "jobs"),
    ("failed", _("Failed"), "jobs"),
    ("dead", _("Dead"), "jobs"),
    ("success_rate", _("Success"), "share"),
    ("wait_p95", _("Wait p95"), "ms"),
    ("run_p95", _("Run p95"), "ms"),
)
"""Those of two days side by side: key, title, unit."""

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


def read_filter(query: QueryDict, place: Place) -> QueueFilter:
    """`?q=&only=&sort=[-]COLUMN`. What is not understood is as if it was not there."""
    sort, only = query.get("sort", ""), query.get("only", "")
    key = sort.removeprefix("-")
    is_known = key in SORTS
    return QueueFilter(
        pool=place.pool,
        namespace=place.namespace,
        text=query.get("q", "").replace("\0", "").strip()[:TEXT_MAX],  # which some databases refuse
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
    return [
        _column(chosen, key, title, begins_group=place == 0)
        for _title, names in GROUPS
        for place, (key, title) in enumerate(names)
    ]


def compared_columns(chosen: QueueFilter) -> Sequence[Column]:
    return [_column(chosen, key, title, unit=unit, begins_group=True) for key, title, unit in COMPARED]


def _column(
    chosen: QueueFilter, key: str, title: Promise | str, *, unit: str = "jobs", begins_group: bool = False
) -> Column:
    """Names sort upwards first, numbers downwards."""
    order = ("descending" if chosen.is_descending else "ascending") if chosen.sort_column == key else ""
    downwards = order == "ascending" or (order == "" and key != NAME)
    sort = f"-{key}" if downwards else key
    return Column(key=key, title=title, unit=unit, sort=sort, order=order, begins_group=begins_group)
