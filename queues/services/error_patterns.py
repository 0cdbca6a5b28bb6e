"""What errors have in common: their text without that which differs from one time to the next."""

from __future__ import annotations

import re
from typing import Final

PATTERN_MAX: Final = 200
"""Characters of a pattern. Errors that differ only behind them count as the same."""

LEASE_LOST: Final = "(lease ran out)"
NO_TEXT: Final = "(no error text)"
"""Patterns of deaths that nobody said a word about. They are also what URLs say, so they are not translated."""

_TRACEBACK: Final = "Traceback (most recent call last):"
_REPLACED: Final = (
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<id>"),  # UUID
    (r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b", "<id>"),  # ULID, such as a job id
    (r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", "<email>"),
    (r"\b0x[0-9a-f]+\b", "<hex>"),
    (r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b", "<hex>"),  # a digest; a word has no digit in it
    (r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?", "<time>"),
    (r"\b\d{1,3}(?:\.\d{1,3}){3}\b", "<ip>"),
    (r"\d+(?:[.,]\d+)*", "<n>"),
)
_STEPS: Final = tuple((re.compile(pattern, re.IGNORECASE), word) for pattern, word in _REPLACED)
_SPACE: Final = re.compile(r"\s+")


def pattern_of(*, error: str, outcome: str) -> str:
    """`timeout after 31 ms` → `timeout after <n> ms`: times, numbers, ids and addresses become placeholders.

    Of a Python traceback only its last line counts, which names the exception. `outcome`: as in a dead letter.
    """
    text = error.strip()
    if not text:
        return LEASE_LOST if outcome == "lease_lost" else NO_TEXT
    if text.startswith(_TRACEBACK):
        text = text.splitlines()[-1].strip()
    text = _SPACE.sub(" ", text)
    for pattern, word in _STEPS:
        text = pattern.sub(word, text)
    return text[:PATTERN_MAX]
