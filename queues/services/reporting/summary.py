"""A day's summary in words and tables, in the language that is set: paper and mail differ in their dress only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC

from django.utils.formats import date_format
from django.utils.translation import gettext

from queues.odd_characters import spell_out

from .account import DaySummary
from .figures import KeyFigure, difference, in_full, words_of_warning
from .tables import Table, tables_of
from .values import DayEntry


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
    place: str
    day: str
    made: str
    remarks: Sequence[str]
    warnings: Sequence[str]
    nothing: str
    lines: Sequence[Line]
    tables: Sequence[Table]


def word_summary(summary: DaySummary) -> WordedSummary:
    """All of it, in the order in which it is read."""
    entry, account = summary.entry, summary.account
    name = summary.queue or summary.namespace
    title = gettext("Daily summary")
    nothing = ""
    if account is None:
        nothing = gettext("Nothing happened") if entry.has_report else gettext("No report of this day")
    at, span = entry.reported_at, gettext("midnight to midnight UTC")
    return WordedSummary(
        title=f"{name} · {title}" if name else title,
        place=f"{summary.pool}:{summary.namespace}" if name else "",
        day=f"{entry.day}, {date_format(entry.day, 'l')} ({span})",
        made=gettext("reported %(at)s UTC") % {"at": f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"} if at else "",
        remarks=_remarks(entry),
        warnings=[
            spell_out(" ".join(filter(None, (words_of_warning(one.kind, one.text), one.text))))
            for one in entry.warnings
        ],
        nothing=nothing,
        lines=[] if account is None else [_line(one) for one in account.key_figures],
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
    return found


def _line(one: KeyFigure) -> Line:
    unit = one.figure.unit
    note = ""
    if one.is_new:
        note = gettext("usually none")
    elif one.against is not None:
        usual = gettext("(usual %(usual)s)") % {"usual": in_full(one.against, unit)}
        note = f"{difference(one.value, one.against, unit)} {usual}"
    elif one.figure.key == "backlog" and one.value is None:
        note = gettext("not known: no report of the day before")
    return Line(
        title=str(one.figure.title), value=in_full(one.value, unit), note=note.strip(), is_flagged=one.is_flagged
    )
