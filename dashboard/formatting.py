"""Numbers and lengths of time as people read them, in English and in Chinese alike; escaping of clients' text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Final, Literal

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from queues.odd_characters import ODD, spell_out
from queues.services.time_units import TIME_UNITS, in_unit


def escape_visibly(text: str) -> SafeString:
    """`text` as HTML. What cannot be seen becomes a mark with its number: `<mark class="odd">U+202E</mark>`."""
    return mark_safe(ODD.sub(_mark, escape(text)))  # noqa: S308 - escaped; what escaping writes is never odd


def _mark(found: re.Match[str]) -> str:
    return f'<mark class="odd">U+{ord(found[0]):04X}</mark>'


def visible_text(text: str) -> str:
    """The same as plain text, for attributes, where no mark can stand: `gnp[U+202E]exe`. Not escaped."""
    return spell_out(text)


def count_invisible(text: str) -> int:
    """How many characters would be marked."""
    return len(ODD.findall(text))


NOTHING: Final = "–"

Number = float | Literal[""] | None
"""What a template has: a part of what is None is the empty text there."""

SEVERITY_STYLES: Final[Mapping[str, str]] = {"critical": "bad", "warning": "warn", "info": "info"}
"""Severity of an incident → class of styles."""

_MAGNITUDES: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def age(milliseconds: float | None) -> str:
    """`1500` → `1 s`: whole numbers of the largest unit that fits; a dash for None."""
    if milliseconds is None:
        return NOTHING
    size = next((size for size, _unit in TIME_UNITS if milliseconds >= size), 1)
    return in_unit(int(milliseconds // size), size)


def duration(milliseconds: float | None) -> str:
    """`1540` → `1.5 s`, `93000` → `1 min 33 s`: as exact as a reader wants it; a dash for None."""
    if milliseconds is None:
        return NOTHING
    if milliseconds < 1_000:
        return in_unit(round(milliseconds), 1)
    if milliseconds < 60_000:
        return in_unit(_short(milliseconds / 1_000), 1_000)
    for (size, _unit), (smaller, _its_unit) in pairwise(TIME_UNITS):
        if milliseconds >= size:
            rest = int(milliseconds % size // smaller)
            whole = in_unit(int(milliseconds // size), size)
            return " ".join([whole, in_unit(rest, smaller)]) if rest else whole
    raise AssertionError(milliseconds)


def brief_duration(milliseconds: float | None) -> str:
    """`93000` → `1.5 min`: two or three digits of one unit, for narrow columns; a dash for None."""
    if milliseconds is None:
        return NOTHING
    for size, _unit in TIME_UNITS:
        if milliseconds >= size * 0.9995 and size > 1:
            return in_unit(_short(milliseconds / size), size)
    return in_unit(round(milliseconds), 1)


def number(value: Number) -> str:
    """`1234567` → `1,234,567`, in English and in Chinese alike; a dash for None."""
    if value is None or isinstance(value, str):
        return NOTHING
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def compact(value: Number) -> str:
    """`12345` → `12.3 k`; small whole numbers as they are; a dash for None."""
    if value is None or isinstance(value, str):
        return NOTHING
    for size, unit in _MAGNITUDES:
        if abs(value) >= size * 0.9995:  # what would be written as 1000 of the smaller unit
            return f"{_short(value / size)} {unit}"
    return _short(value)


def per_second(rate: Number) -> str:
    """`12.34` → `12.3/s`; a dash for None."""
    return NOTHING if rate is None or isinstance(rate, str) else f"{compact(rate)}/s"


def rate(per_second: float) -> str:
    """`0.016` → `0.02`: two places below ten, for queues that do something now and then."""
    return f"{per_second:.2g}" if 0 < per_second < 1 else compact(per_second)


def _short(value: float) -> str:
    """One decimal below a hundred, none above, never `.0`; what is small but something is not written as nothing."""
    if 0.001 <= abs(value) < 0.05:
        return f"{value:.1g}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}".removesuffix(".0")
