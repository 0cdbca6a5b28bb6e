"""The pattern of an error: its text without what differs from one occurrence to the next.

The regular expressions mean the same in Python and in Java, because Spark applies them too
(`queues.reports.tables.errors`): classes are spelled out instead of `\\s`, `\\b`, `$` or a flag for case. Each takes
linear time on every text: what is repeated without bound is possessive and begins where a word does.
"""

from __future__ import annotations

import re
from typing import Final

PATTERN_MAX: Final = 200
"""Characters of a pattern. Errors that differ only after them have the same pattern."""

TEXT_MAX: Final = 256
"""Characters of an error, spaces counted once, from which the pattern is made."""

LEASE_LOST: Final = "(lease ran out)"
NO_TEXT: Final = "(no error text)"
"""Patterns of deaths without an error text. They are also what URLs say, so they are not translated."""

TRACEBACK: Final = "Traceback (most recent call last):"
"""Of a text that begins so, only the last line counts, which names the exception."""

SPACES: Final = "".join(filter(str.isspace, map(chr, range(0x3001))))
"""The characters that `str.split` takes for space. A run of them becomes one blank."""

_WORD: Final = "0-9A-Za-z_"
_HEX: Final = "[0-9A-Fa-f]"
_DIGIT: Final = "[0-9]"
_WORD_END: Final = f"(?![{_WORD}])"

EMAIL: Final = rf"(?<![{_WORD}.+-])[{_WORD}.+-]++@[{_WORD}-]++(?:\.[{_WORD}-]++)++"
EMAIL_PLACEHOLDER: Final = "<email>"

_UUID: Final = f"{_HEX}{{7}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}{_WORD_END}"
_DIGEST: Final = f"(?:(?<=[A-Fa-f])[A-Fa-f]*+[0-9]|(?<=[0-9])[0-9]*+[A-Fa-f]){_HEX}*+{_WORD_END}"
_TIME: Final = (
    f"{_DIGIT}{{3}}-{_DIGIT}{{2}}-{_DIGIT}{{2}}"
    f"(?:[Tt ]{_DIGIT}{{2}}:{_DIGIT}{{2}}(?::{_DIGIT}{{2}}(?:[.,]{_DIGIT}++)?)?)?"
    f"(?:[Zz]|[+-]{_DIGIT}{{2}}:?{_DIGIT}{{2}})?"
)
_IP: Final = rf"{_DIGIT}{{0,2}}\.{_DIGIT}{{1,3}}\.{_DIGIT}{{1,3}}\.{_DIGIT}{{1,3}}{_WORD_END}"
_PREFIXED_HEX: Final = f"(?<=0)[Xx]{_HEX}++{_WORD_END}"
_ULID: Final = f"(?<=[0-7])[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{{25}}{_WORD_END}"

TOKEN: Final = (
    f"{_HEX}(?<![{_WORD}].)(?:"
    f"(?={_HEX}{{7}})(?:({_UUID})|({_DIGEST}))"
    f"|(?<=[0-9])(?=[0-9A-Za-z.]{{2}})(?:({_TIME})|({_IP})|({_PREFIXED_HEX})|({_ULID}))"
    ")"
)
"""An id, digest, time or address. It begins with a hexadecimal digit that begins a word; a group matches the rest."""

PLACEHOLDERS: Final = ("<id>", "<hex>", "<time>", "<ip>", "<hex>", "<id>")
"""What stands for a TOKEN, by the group that matches. A digest has a letter and a digit, so a word is none."""

NUMBER: Final = "[0-9]++(?:[.,][0-9]++)*+"
NUMBER_PLACEHOLDER: Final = "<n>"

_EMAIL_RE: Final = re.compile(EMAIL)
_TOKEN_RE: Final = re.compile(TOKEN)
_NUMBER_RE: Final = re.compile(NUMBER)

# So many of each fill a pattern: a word has a character and a blank, a separator follows a token.
_WORDS: Final = PATTERN_MAX // 2 + 1
_EMAILS: Final = PATTERN_MAX // len(EMAIL_PLACEHOLDER) + 1
_TOKENS: Final = PATTERN_MAX // (min(map(len, PLACEHOLDERS)) + 1) + 1
_NUMBERS: Final = PATTERN_MAX // len(NUMBER_PLACEHOLDER) + 1


def pattern_of(*, error: str, outcome: str) -> str:
    """`timeout after 31 ms` → `timeout after <n> ms`: times, numbers, ids and addresses become placeholders.

    Of a Python traceback only its last line counts, which names the exception. `outcome`: as in a dead letter.
    """
    text = error.strip()
    if not text:
        return LEASE_LOST if outcome == "lease_lost" else NO_TEXT
    if text.startswith(TRACEBACK):
        text = text.replace("\r", "\n").rpartition("\n")[2]
    text = " ".join(text.split(None, _WORDS)[:_WORDS])[:TEXT_MAX]
    if "@" in text:
        text = _EMAIL_RE.sub(EMAIL_PLACEHOLDER, text, _EMAILS)
    text = _TOKEN_RE.sub(_placeholder, text, _TOKENS)
    return _NUMBER_RE.sub(NUMBER_PLACEHOLDER, text, _NUMBERS)[:PATTERN_MAX]


def _placeholder(token: re.Match[str]) -> str:
    return PLACEHOLDERS[token.lastindex - 1]  # type: ignore[operator]  # one of the groups has matched
