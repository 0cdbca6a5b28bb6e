"""What a day's summary judges: figures out of line with past weeks, and objectives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.utils.translation import gettext

from queues.odd_characters import spell_out

from ..account import Account
from ..page_day import Objectives
from ..shapes import QueueRow
from ..wording import NOTHING, brief, figure_title, in_full, share, unit_of, words_of_change
from .cells import Cell, Table, cells, named, so_many

CHANGES: Final = 6
OBJECTIVES: Final = 8
"""Rows of each; how many there are in all is said."""


def changes_of(account: Account) -> Table:
    changes = account.notes.changes
    rows = [
        (
            named(one.what.queue, one.namespace, tells_namespace=account.tells_namespace)
            if one.what.queue
            else Cell(spell_out(one.namespace), gettext("whole namespace")),
            Cell(figure_title(one.what.figure)),
            Cell(in_full(one.what.value, unit_of(one.what))),
            Cell(words_of_change(one.what), _usual(one.what.usual, unit_of(one.what))),
        )
        for one in changes[:CHANGES]
    ]
    return Table(
        key="changes",
        title=gettext("Out of line"),
        head=(gettext("Where"), gettext("What"), gettext("On this day"), gettext("Change")),
        rows=rows,
        numbers_from=2,
        numbers_to=3,
        note=so_many(len(rows), len(changes)),
        empty=gettext("Nothing."),
        is_wide=True,
        is_half=account.objectives is not None,
    )


def _usual(value: float | None, unit: str) -> str:
    return "" if value is None else gettext("(usual %(usual)s)") % {"usual": in_full(value, unit)}


def objectives_of(objectives: Objectives, tells_namespace: bool) -> Table:
    counted = {"met": objectives.met, "judged": objectives.judged}
    shown = objectives.rows[:OBJECTIVES]
    return Table(
        key="objectives",
        title=gettext("Objectives"),
        aside=gettext("%(met)s of %(judged)s met") % counted if objectives.judged else "",
        head=(gettext("Queue"), gettext("Verdict"), gettext("Wait p95 / objective"), gettext("In time")),
        rows=[_objective(row, tells_namespace) for row in shown],
        numbers_from=2,
        note=so_many(len(shown), objectives.found),
        empty=gettext("None set."),
        is_half=True,
    )


def _objective(row: QueueRow, tells_namespace: bool) -> Sequence[Cell]:
    objective = row.objective
    if objective is None or objective.is_met is None:
        verdict = NOTHING
    else:
        sign, word = ("✓", gettext("met")) if objective.is_met else ("✕", gettext("missed"))
        verdict = f"{sign} {word}"
    limit = NOTHING if objective is None else brief(objective.seconds * 1_000)
    name = named(row.queue, row.namespace, tells_namespace=tells_namespace)
    times = f"{brief(row.figures.wait.p95)} / {limit}"
    return (name, *cells(verdict, times, share(objective.share if objective else None)))
