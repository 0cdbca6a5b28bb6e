"""The tables of a day: what their rows and cells say on paper and in the mail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from django.utils.translation import gettext, pgettext

from queues.odd_characters import spell_out

from .account import Account
from .figures import (
    NOTHING,
    TIME_COLUMNS,
    brief,
    figure_title,
    funnel_of,
    in_full,
    jobs,
    note_on_times,
    share,
    times_of,
    unit_of,
    words_of_change,
)
from .merging import Objectives
from .values import Figures, QueueReport, QueueRow, QueueTable


class Cell(NamedTuple):
    """`aside`: said less loudly, behind it."""

    text: str
    aside: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """`aside`: said beside the title; `note`: below it, such as how many rows there are in all. The first cell of each
    row names it; those from `numbers_from` to before `numbers_to` are numbers. `head` (): the rows say all. `empty`:
    said instead when there are no rows. `is_wide`: where there is little room, names need lines of their own;
    `is_half`: two of these fit side by side."""

    key: str
    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numbers_from: int = 1
    numbers_to: int = 100
    aside: str = ""
    note: str = ""
    empty: str = ""
    is_wide: bool = False
    is_half: bool = False


def cells(*texts: str) -> tuple[Cell, ...]:
    """Each without an aside."""
    return tuple(Cell(text) for text in texts)


def named(queue: str, namespace: str, *, tells_namespace: bool) -> Cell:
    """A queue, with its namespace where that is needed."""
    return Cell(spell_out(queue), spell_out(namespace) if tells_namespace else "")


def so_many(shown: int, found: int) -> str:
    """How many rows there are in all, unless that can be seen."""
    return gettext("%(shown)s of %(found)s.") % {"shown": shown, "found": jobs(found)} if found > shown else ""


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
            *cells(jobs(spread.count), *(brief(getattr(spread, part)) for part, _title in TIME_COLUMNS)),
        )
        for title, span, spread in found
    ]
    head = (gettext("Measure"), gettext("Count"), *(str(title) for _part, title in TIME_COLUMNS))
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
