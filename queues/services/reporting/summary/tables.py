"""The tables of a day's summary, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.utils.translation import gettext, pgettext

from queues.odd_characters import spell_out

from ..account import Account
from ..funnel import funnel_of
from ..shapes import Figures, QueueRow, QueueTable
from ..times import COLUMNS, note_on_times, times_of
from ..wording import NOTHING, brief, jobs, share
from .cells import Cell, Table, cells, named, so_many
from .hours import hours_of
from .judged import changes_of, objectives_of

ERRORS: Final = 5
NAMESPACES: Final = 8
"""Rows of each; how many there are in all is said."""


def tables_of(account: Account, queues: QueueTable | None) -> list[Table]:
    """Those that apply; what is empty and worth saying so is there without rows."""
    tells = account.tells_namespace
    found = [*hours_of(account), _funnel(account.figures), _times(account.figures), changes_of(account)]
    if account.objectives is not None:
        found.append(objectives_of(account.objectives, tells))
    found.append(_errors(account))
    if tells:
        rows = [report.row for report in account.reports]
        found.append(_places("namespaces", gettext("Namespaces"), rows[:NAMESPACES], len(account.namespaces)))
    if queues is not None and queues.rows:
        found.append(_places("queues", gettext("Busiest queues"), queues.rows, queues.found, tells))
    return found


def _funnel(figures: Figures) -> Table:
    rows = [
        cells(title, " · ".join(f"{name} {jobs(number)}" for name, number in parts))
        for title, parts in funnel_of(figures)
    ]
    return Table(key="funnel", title=gettext("What became of the jobs"), head=(), rows=rows, numbers_from=2)


def _times(figures: Figures) -> Table:
    found = times_of(figures)
    rows = [
        (
            Cell(str(title), str(span)),
            *cells(jobs(spread.count), *(brief(getattr(spread, part)) for part, _title in COLUMNS)),
        )
        for title, span, spread in found
    ]
    head = (gettext("Measure"), gettext("Count"), *(str(title) for _part, title in COLUMNS))
    return Table(key="times", title=gettext("Times"), head=head, rows=rows, note=note_on_times(figures), is_wide=True)


def _errors(account: Account) -> Table:
    errors = account.notes.errors
    rows = [
        (
            Cell(spell_out(one.what.pattern) or NOTHING),
            named(one.what.queue, one.namespace, tells_namespace=account.tells_namespace),
            *cells(jobs(one.what.failed), jobs(one.what.dead)),
        )
        for one in errors[:ERRORS]
    ]
    died = pgettext("number of jobs", "Died")
    return Table(
        key="errors",
        title=gettext("What failed"),
        head=(gettext("Error"), gettext("Queue"), gettext("Failed"), died),
        rows=rows,
        numbers_from=2,
        note=so_many(len(rows), len(errors)),
        empty=gettext("Nothing failed."),
        is_wide=True,
    )


def _places(key: str, title: str, rows: Sequence[QueueRow], found: int, tells_namespace: bool = False) -> Table:
    """Queues, or namespaces with the pools that they live in."""
    first = gettext("Queue") if key == "queues" else gettext("Namespace")
    counts = (gettext("Published"), gettext("Acked"), gettext("Failed"), gettext("Dead"), gettext("Success"))
    return Table(
        key=key,
        title=title,
        head=(first, *counts, gettext("Wait p95"), gettext("Run p95"), gettext("Backlog")),
        rows=[
            (
                named(row.queue, row.namespace, tells_namespace=tells_namespace)
                if row.queue
                else Cell(spell_out(row.namespace), spell_out(row.pool)),
                *_figures(row.figures),
            )
            for row in rows
        ],
        note=so_many(len(rows), found),
        is_wide=True,
    )


def _figures(one: Figures) -> tuple[Cell, ...]:
    counts = (jobs(one.published), jobs(one.acked), jobs(one.failed), jobs(one.dead), share(one.success_rate))
    return cells(*counts, brief(one.wait.p95), brief(one.run.p95), jobs(one.backlog))
