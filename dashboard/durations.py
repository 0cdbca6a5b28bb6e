"""Lengths of time as people type them in forms: `90`, `90s`, `5m`, `1h30m`, `1d`, and back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from django.utils.translation import gettext as _

UNITS_S: Final[Mapping[str, int]] = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_ALIASES: Final[Mapping[str, str]] = {"": "s", "sec": "s", "min": "m", "day": "d", "days": "d"}
_PART: Final = re.compile(r"([0-9]{1,12})(?:\.([0-9]{1,6}))?\s*([a-z]{0,4})\s*")
TEXT_MAX: Final = 40
"""Characters. The longest that makes sense has half of them."""


class DurationError(ValueError):
    """What is wrong, in the reader's language."""


def parse_duration(text: str, *, least_s: int = 0, most_s: int) -> int:
    """Whole seconds. A number without a unit is seconds. Raises DurationError."""
    seconds = _sum(text.strip().lower())
    if seconds is None:
        raise DurationError(_("Write a length of time such as 90s, 5m, 2h or 1d."))
    if seconds.denominator != 1:
        raise DurationError(_("That is not a whole number of seconds."))
    if seconds < least_s:
        raise DurationError(_("At least %(least)s.") % {"least": write_duration(least_s)})
    if seconds > most_s:
        raise DurationError(_("At most %(most)s seconds.") % {"most": f"{most_s:,}"})
    return int(seconds)


def _sum(text: str) -> Fraction | None:
    """None for what is no length of time: each unit once, the larger first."""
    if not text or len(text) > TEXT_MAX:
        return None
    at, total, last = 0, Fraction(0), 0
    while at < len(text):
        found = _PART.match(text, at)
        if found is None:
            return None
        number, decimals, word = found.groups()
        unit = UNITS_S.get(_ALIASES.get(word, word))
        if unit is None or (last and (unit >= last or not word)):
            return None
        total += Fraction(f"{number}.{decimals or 0}") * unit
        at, last = found.end(), unit
    return total


def write_duration(seconds: int) -> str:
    """`5400` → `1h30m`, `86400` → `1d`, `0` → `0s`: what `parse_duration` reads."""
    parts = []
    rest = seconds
    for unit, size in UNITS_S.items():
        count, rest = divmod(rest, size) if unit != "w" else (0, rest)  # 7d says more than 1w
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
