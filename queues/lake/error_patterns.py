"""What errors have in common: their text without that which differs from one time to the next.

The rules are regular expressions that Python (with re.ASCII) and Java read alike, for Spark applies them too: no `\\b`,
whose meaning changed in Java 19, no `$`, which has its own idea of where lines end.
"""

from __future__ import annotations

import re
from typing import Final

PATTERN_MAX: Final = 200
"""Characters of a pattern. Errors that differ only behind them count as the same."""

LEASE_LOST: Final = "(lease ran out)"
NO_TEXT: Final = "(no error text)"
"""Patterns of deaths that nobody said a word about. They are also what URLs say, so they are not translated."""

TRACEBACK: Final = "Traceback (most recent call last):"
"""Of a text that begins so, only the last line counts, which names the exception."""

EDGES: Final = r"^\s+|\s+(?![\s\S])"
"""Space around a text, which is taken off first."""

LAST_LINE: Final = r"^[\s\S]*[\n\r](?=[^\n\r])"
"""All but the last line."""

_FROM: Final = r"(?<![0-9A-Za-z_])"
_TO: Final = r"(?![0-9A-Za-z_])"

REPLACED: Final = (
    (r"\s+", " "),
    (_FROM + r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}" + _TO, "<id>"),  # UUID
    (_FROM + r"[0-7][0-9A-HJKMNP-TV-Z]{25}" + _TO, "<id>"),  # ULID, such as a job id
    (r"[0-9A-Za-z_.+-]+@[0-9A-Za-z_-]+(?:\.[0-9A-Za-z_-]+)+", "<email>"),
    (_FROM + r"0x[0-9a-f]+" + _TO, "<hex>"),
    # A digest; a word has no digit in it.
    (_FROM + r"(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{8,}" + _TO, "<hex>"),
    (
        _FROM + r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?)?"
        r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?",
        "<time>",
    ),
    (_FROM + r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}" + _TO, "<ip>"),
    (r"[0-9]+(?:[.,][0-9]+)*", "<n>"),
)
"""(what, by what) one after the other, without regard to case."""

_FLAGS: Final = re.IGNORECASE | re.ASCII
_EDGES: Final = re.compile(EDGES, _FLAGS)
_LAST_LINE: Final = re.compile(LAST_LINE, _FLAGS)
_STEPS: Final = tuple((re.compile(what, _FLAGS), word) for what, word in REPLACED)


def pattern_of(*, error: str, outcome: str) -> str:
    """`timeout after 31 ms` → `timeout after <n> ms`: times, numbers, ids and addresses become placeholders.

    Of a Python traceback only its last line counts, which names the exception. `outcome`: as in a dead letter.
    """
    text = _EDGES.sub("", error)
    if not text:
        return LEASE_LOST if outcome == "lease_lost" else NO_TEXT
    if text.startswith(TRACEBACK):
        text = _EDGES.sub("", _LAST_LINE.sub("", text))
    for what, word in _STEPS:
        text = what.sub(word, text)
    return text[:PATTERN_MAX]
