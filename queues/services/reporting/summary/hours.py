"""The hours of a day as tables: the numbers of the pictures that paper has in their place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.utils.translation import gettext

from queues.odd_characters import spell_out

from ..account import Account
from ..shapes import Figures, QueueReport
from ..wording import brief, jobs
from .cells import Cell, Table, cells

LINES: Final = 5
"""Namespaces whose waiting is told side by side: the busiest."""


def hours_of(account: Account) -> list[Table]:
    """Jobs by hour, with the waiting; of several namespaces that is a table of its own, for it cannot be added up."""
    several = account.reports[:LINES] if account.tells_namespace else ()
    tables = [_jobs(account.hours, with_waits=not several)]
    if several:
        tables.append(_waits(account.hours, several))
    return tables


def _jobs(hours: Sequence[Figures], *, with_waits: bool) -> Table:
    head = (gettext("Hour"), gettext("Published"), gettext("Acked"), gettext("Failed"), gettext("Dead"))
    waits = (gettext("Wait p50"), gettext("Wait p95"), gettext("Wait p99"))
    rows = []
    for one in hours:
        counts = (jobs(one.published), jobs(one.acked), jobs(one.failed), jobs(one.dead))
        times = (brief(one.wait.p50), brief(one.wait.p95), brief(one.wait.p99))
        rows.append((_hour(one), *cells(*counts, *(times if with_waits else ()))))
    return Table(
        key="hours",
        title=gettext("Hour by hour"),
        head=(*head, *(waits if with_waits else ())),
        rows=rows,
        note=gettext("Hours are UTC; in those that are not listed nothing happened.") if len(rows) < 24 else "",
        empty=gettext("Nothing happened on this day."),
    )


def _waits(hours: Sequence[Figures], reports: Sequence[QueueReport]) -> Table:
    known = [{hour.hour: hour.wait.p95 for hour in report.hours} for report in reports]
    return Table(
        key="waits",
        title=gettext("Wait p95 by hour, of the busiest namespaces"),
        head=(gettext("Hour"), *(spell_out(report.row.namespace) for report in reports)),
        rows=[(_hour(one), *cells(*(brief(waits.get(one.hour)) for waits in known))) for one in hours],
    )


def _hour(one: Figures) -> Cell:
    return Cell(f"{one.hour:02}:00")
