"""What tables of a summary are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.translation import gettext

from queues.odd_characters import spell_out

from ..wording import jobs


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
