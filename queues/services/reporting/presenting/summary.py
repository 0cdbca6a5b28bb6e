"""A day's summary in words and tables, in the language that is set: paper and mail differ in their dress only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any, Final, NamedTuple

from django.utils.formats import date_format
from django.utils.translation import gettext

from queues.odd_characters import spell_out

from ..reading.merging import Notes
from ..values import DayEntry, Figures, Objective, QueueReport, QueueRow, QueueTable
from .account import Account, DaySummary
from .figures import (
    NOTHING,
    TIME_TITLES,
    KeyFigure,
    brief,
    difference,
    funnel_of,
    in_full,
    jobs,
    note_on_times,
    times_of,
    title_of_change,
    unit_of,
    usual_words,
    words_of_better,
    words_of_change,
    words_of_history,
    words_of_losses,
    words_of_uneven_hours,
    words_of_warning,
)
from .tables import TABLES, Column, DayFigures, Kind, Output


class Cell(NamedTuple):
    """`aside`: said less loudly, behind it."""

    text: str
    aside: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTable:
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


def so_many(shown: int, found: int) -> str:
    """How many rows there are in all, unless that can be seen."""
    return gettext("%(shown)s of %(found)s.") % {"shown": shown, "found": jobs(found)} if found > shown else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A key figure. `note`: how it stands beside what is usual, "" if nobody knows."""

    title: str
    value: str
    note: str
    is_flagged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WordedSummary:
    """`remarks`: what is to be known before anything else; `warnings`: what was amiss with the report. `nothing`: said
    where there are no figures. What strangers wrote shows its odd characters; HTML still has to escape it."""

    title: str
    scope: str
    day: str
    made: str
    remarks: Sequence[str]
    warnings: Sequence[str]
    nothing: str
    lines: Sequence[Line]
    tables: Sequence[PaperTable]


def word_summary(summary: DaySummary) -> WordedSummary:
    """All of it, in the order in which it is read."""
    entry, account = summary.entry, summary.account
    name = summary.queue or summary.namespace
    title = gettext("Daily summary")
    nothing = ""
    if account is None:
        nothing = gettext("Nothing happened") if entry.has_report else gettext("No report of this day")
    at = entry.reported_at
    span = gettext("midnight to midnight, %(time_zone)s") % {"time_zone": entry.time_zone}
    if not entry.time_zone:
        span = gettext("midnight to midnight UTC")
    return WordedSummary(
        title=f"{name} · {title}" if name else title,
        scope=f"{summary.pool}:{summary.namespace}" if name else "",
        day=f"{entry.day}, {date_format(entry.day, 'l')} ({span})",
        made=gettext("reported %(at)s UTC") % {"at": f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"} if at else "",
        remarks=_remarks(entry),
        warnings=[
            spell_out(" ".join(filter(None, (words_of_warning(one.kind, one.text), one.text))))
            for one in entry.warnings
        ],
        nothing=nothing,
        lines=[] if account is None else [_line(one, entry) for one in account.key_figures],
        tables=[] if account is None else tables_of(account, summary.queues),
    )


def _remarks(entry: DayEntry) -> list[str]:
    found = []
    if entry.is_demo:
        title, more = (
            gettext("Demo data"),
            gettext("Some or all of the events of this day are made up (command demodata)."),
        )
        found.append(f"{title} · {more}")
    if entry.has_report and not entry.is_complete:
        title, more = gettext("Not the whole day."), gettext("The day is not over: these figures are of a part of it.")
        found.append(f"{title} {more}")
    if words := words_of_uneven_hours(entry.day, entry.time_zone):
        found.append(words)
    if entry.lacks_events:
        found.append(words_of_losses())
    return found


def _line(one: KeyFigure, entry: DayEntry) -> Line:
    unit = one.figure.unit
    value = in_full(one.value, unit)
    if entry.lacks_events and one.is_count:
        value = gettext("at least %(value)s") % {"value": value}
    note = ""
    if one.is_new:
        note = gettext("usually none")
    elif one.against == 0 and one.value:
        note = usual_words(one.against, unit)
    elif one.against is not None:
        note = f"{difference(one.value, one.against, unit)} {usual_words(one.against, unit)}"
    elif one.figure.key == "backlog" and one.value is None:
        note = gettext("not known: no report of the day before")
    return Line(title=str(one.figure.title), value=value, note=note.strip(), is_flagged=one.is_flagged)


LINES: Final = 5
"""Namespaces whose waiting is told side by side: the busiest."""


def tables_of(account: Account, queues: QueueTable | None) -> list[PaperTable]:
    """Those that apply; what is empty and worth saying so is there without rows."""
    tells, notes, objectives = account.tells_namespace, account.notes, account.objectives
    found = [*_hours(account), _funnel(account.figures)]
    found.append(_paper("times", times_of(account.figures), note=note_on_times(account.figures)))
    is_half = objectives is not None
    found.append(_changes(notes, tells_namespace=tells, is_half=is_half))
    if objectives is not None:
        counted = {"met": objectives.met, "judged": objectives.judged}
        aside = gettext("%(met)s of %(judged)s met") % counted if objectives.judged else ""
        found.append(
            _paper("objectives", objectives.rows, objectives.found, tells_namespace=tells, aside=aside, is_half=True)
        )
    found.append(_paper("errors", notes.errors, tells_namespace=tells))
    if tells:
        found.append(_paper("namespaces", [report.row for report in account.reports], len(account.namespaces)))
    if queues is not None and queues.rows:
        found.append(_paper("queues", queues.rows, queues.found, tells_namespace=tells))
    return found


def _changes(notes: Notes, *, tells_namespace: bool, is_half: bool) -> PaperTable:
    """What is out of line; where nothing is, why. What is better than usual is noted."""
    better = words_of_better(notes.better)
    note = gettext("Better than usual: %(changes)s") % {"changes": better} if better else ""
    table = _paper("changes", notes.changes, tells_namespace=tells_namespace, is_half=is_half, note=note)
    return replace(table, empty=words_of_history(notes.history))


def _paper(
    key: str,
    rows: Sequence[Any],
    found: int | None = None,
    *,
    without: Sequence[str] = (),
    tells_namespace: bool = False,
    note: str = "",
    aside: str = "",
    is_half: bool = False,
) -> PaperTable:
    """A described table as paper has it. `found`: how many rows there are in all; `without`: columns left out."""
    table = TABLES[key]
    columns = [column for column in table.columns_on(Output.PAPER) if column.key not in without]
    numbers = [index for index, column in enumerate(columns) if column.kind.is_number]
    shown = rows[: table.on_paper]
    return PaperTable(
        key=key,
        title=str(table.title),
        head=[str(column.title) for column in columns],
        rows=[[_cell(column, row, tells_namespace) for column in columns] for row in shown],
        numbers_from=numbers[0],
        numbers_to=numbers[-1] + 1,
        aside=aside,
        note=note or so_many(len(shown), len(rows) if found is None else found),
        empty=str(table.empty),
        is_wide=table.is_wide,
        is_half=is_half,
    )


def _cell(column: Column, row: Any, tells_namespace: bool) -> Cell:
    """What a row says in a column."""
    value = column.read(row)
    match column.kind:
        case Kind.JOBS | Kind.SHARE | Kind.MS:
            return Cell(in_full(value, column.kind))
        case Kind.SCOPE | Kind.QUEUE:
            return _scope_cell(row, tells_namespace)
        case Kind.HOUR:
            return Cell(f"{value:02}:00")
        case Kind.TIME:
            title, span = TIME_TITLES[value]
            return Cell(str(title), str(span))
        case Kind.ERROR:
            return Cell(spell_out(value) or NOTHING)
        case Kind.FIGURE:
            return Cell(title_of_change(row.what))
        case Kind.CHANGED:
            return Cell(in_full(value, unit_of(row.what)))
        case Kind.CHANGE:
            return Cell(words_of_change(row.what), usual_words(row.what.usual, unit_of(row.what)))
        case Kind.VERDICT:
            return Cell(_verdict(value))
        case Kind.BESIDE_LIMIT:
            limit = NOTHING if row.objective is None else brief(row.objective.seconds * 1_000)
            return Cell(f"{brief(row.figures.wait.p95)} / {limit}")
    raise AssertionError(f"paper has no cells of kind {column.kind}")


def _scope_cell(row: Any, tells_namespace: bool) -> Cell:
    """A queue; or a namespace, with its pool, or among queues with the words that it is one."""
    queue = row.queue if isinstance(row, QueueRow) else row.what.queue
    if queue:
        return Cell(spell_out(queue), spell_out(row.namespace) if tells_namespace else "")
    aside = spell_out(row.pool) if isinstance(row, QueueRow) else gettext("whole namespace")
    return Cell(spell_out(row.namespace), aside)


def _verdict(objective: Objective | None) -> str:
    if objective is None or objective.is_met is None:
        return NOTHING
    sign, word = ("✓", gettext("met")) if objective.is_met else ("✕", gettext("missed"))
    return f"{sign} {word}"


def _hours(account: Account) -> list[PaperTable]:
    """Jobs by hour, with the waiting; of several namespaces that is a table of its own, for it cannot be added up."""
    several = account.reports[:LINES] if account.tells_namespace else ()
    rows = [DayFigures(None, one) for one in account.hours]
    note = gettext("Hours are UTC; in those that are not listed nothing happened.")
    if account.time_zone:
        note = gettext("Hours of %(time_zone)s; in those that are not listed nothing happened.") % {
            "time_zone": account.time_zone
        }
    if len(rows) == 24:
        note = ""
    hours = _paper("hours", rows, note=note, without=("wait_p50", "wait_p95", "wait_p99") if several else ())
    return [hours, _waits(account.hours, several)] if several else [hours]


def _waits(hours: Sequence[Figures], reports: Sequence[QueueReport]) -> PaperTable:
    """A column for each namespace."""
    known = [{hour.hour: hour.wait.p95 for hour in report.hours} for report in reports]
    return PaperTable(
        key="waits",
        title=gettext("Wait p95 by hour, of the busiest namespaces"),
        head=(gettext("Hour"), *(spell_out(report.row.namespace) for report in reports)),
        rows=[cells(f"{one.hour:02}:00", *(brief(waits.get(one.hour)) for waits in known)) for one in hours],
    )


def _funnel(figures: Figures) -> PaperTable:
    rows = [
        cells(title, " · ".join(f"{name} {jobs(number)}" for name, number in parts))
        for title, parts in funnel_of(figures)
    ]
    return PaperTable(key="funnel", title=gettext("What became of the jobs"), head=(), rows=rows, numbers_from=2)
