"""Units of time in the user's language, for what pages, mails and incidents say."""

from __future__ import annotations

from typing import Final

from django.utils.functional import Promise
from django.utils.translation import pgettext_lazy

TIME_UNITS: Final[tuple[tuple[int, Promise], ...]] = (
    (86_400_000, pgettext_lazy("unit", "%(n)s d")),
    (3_600_000, pgettext_lazy("unit", "%(n)s h")),
    (60_000, pgettext_lazy("unit", "%(n)s min")),
    (1_000, pgettext_lazy("unit", "%(n)s s")),
    (1, pgettext_lazy("unit", "%(n)s ms")),
)
"""Milliseconds of each, the largest first, and how a number of it is written."""


def in_unit(number: float | str, size: int) -> str:
    """`2` of 60,000 ms → `2 min`."""
    return str(_WORDS[size]) % {"n": number}


_WORDS: Final = dict(TIME_UNITS)
