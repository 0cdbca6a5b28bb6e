"""A summary as plain text, its tables in columns of characters that are equally wide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from unicodedata import east_asian_width

from django.utils.translation import gettext

from .cells import Cell, Table
from .words import Line, WordedSummary

NAME_MAX: Final = 30
"""Columns of a name in a table; a longer one has a line of its own."""

GAP: Final = "  "


def as_text(summary: WordedSummary, *, url: str = "") -> str:
    """All of it, in lines; `url`: where the report is on the web, if it is known."""
    return "\n".join(_lines(summary, url)) + "\n"


def _lines(summary: WordedSummary, url: str) -> Iterator[str]:
    yield summary.title
    yield from filter(None, (summary.day, summary.place, summary.made, *summary.remarks))
    if url:
        yield url
    if summary.warnings:
        yield from _titled(gettext("Warnings"))
        yield from (f"- {_one_line(warning)}" for warning in summary.warnings)
    if summary.nothing:
        yield from ("", summary.nothing)
        return
    yield ""
    yield from _aligned([_told(line) for line in summary.lines], 1, 2)
    for table in summary.tables:
        yield from _titled(f"{table.title} ({table.aside})" if table.aside else table.title)
        yield from _table(table)


def _titled(title: str) -> Iterator[str]:
    yield from ("", title, "-" * width(title))


def _told(line: Line) -> list[str]:
    return [line.title, line.value, f"▲ {line.note}" if line.is_flagged else line.note]


def _table(table: Table) -> Iterator[str]:
    if table.rows:
        rows = [[_cell(cell) for cell in row] for row in table.rows]
        yield from _aligned([list(table.head), *rows] if table.head else rows, table.numbers_from, table.numbers_to)
    elif table.empty:
        yield table.empty
    if table.note:
        yield table.note


def _cell(cell: Cell) -> str:
    return _one_line(f"{cell.text} {cell.aside}")


def _one_line(text: str) -> str:
    """A line feed in what a stranger wrote would look like a row of its own."""
    return " ".join(text.split())


def _aligned(rows: Sequence[Sequence[str]], numbers_from: int, numbers_to: int) -> Iterator[str]:
    """Numbers to the right, words to the left."""
    widths = [max(width(row[at]) for row in rows if at or width(row[0]) <= NAME_MAX) for at in range(len(rows[0]))]
    for row in rows:
        cells = list(row)
        if width(cells[0]) > NAME_MAX:
            yield cells[0]
            cells[0] = ""
        padded = [
            " " * (most - width(text)) + text if numbers_from <= at < numbers_to else text + " " * (most - width(text))
            for at, (text, most) in enumerate(zip(cells, widths, strict=True))
        ]
        yield GAP.join(padded).rstrip()


def width(text: str) -> int:
    """Columns that it takes: Chinese characters take two."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)
