"""The pattern of an error: its text without what differs from one occurrence to the next.

Codes stay: `550 no such host` and `[Errno 111] Connection refused` are other errors than `421 try again` and
`[Errno 104] Connection reset`. A code is a number of up to three digits behind a word that announces one (`status`,
`errno`), or a status of HTTP or SMTP at the beginning of the text or of a clause (CODE).

The regular expressions mean the same in Python and in Java, because Spark applies them too
(`queues.reports.tables.errors`): classes are spelled out instead of `\\s`, `\\b`, `$` or a flag for case. Each takes
linear time on every text: what is repeated without bound is possessive and begins where a word does.
"""

from __future__ import annotations

import re
from typing import Final

TEXT_MAX: Final = 256
"""Characters of an error, or of a traceback's last line, that are looked at: a copy of the rest costs time, too."""

PATTERN_MAX: Final = 100
"""Characters of a pattern, and of the error, spaces counted once, from which it is made."""

WORDS_MAX: Final = 24
"""Words of an error from which the pattern is made."""

PLACEHOLDERS_MAX: Final = 8
"""A pattern ends with so many. The parts of `1,024.5` count one by one, and a `>` of the error counts as well."""

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

EMAIL: Final = rf"(?<![{_WORD}.+-])[{_WORD}.+-]++@[{_WORD}-]++(?>\.[{_WORD}-]++)++"
EMAIL_PLACEHOLDER: Final = "<email>"

# What follows the first digit or letter of each. A group tells which it is, and need not hold all of it. A UUID's last
# hyphen is looked at first, because most of what begins like a UUID does not have it.
_UUID: Final = f"(?=.{{22}}-){_HEX}{{7}}(-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}){_WORD_END}"
_DIGEST_AFTER_DIGIT: Final = f"[0-9]*+([A-Fa-f]){_HEX}*+{_WORD_END}"
_DIGEST_AFTER_LETTER: Final = f"[A-Fa-f]*+([0-9]){_HEX}*+{_WORD_END}"
_TIME: Final = (
    f"{_DIGIT}{_DIGIT}{_DIGIT}-{_DIGIT}{_DIGIT}-{_DIGIT}({_DIGIT}"
    f"(?:[Tt ]{_DIGIT}{{2}}:{_DIGIT}{{2}}(?::{_DIGIT}{{2}}(?:[.,]{_DIGIT}++)?)?)?"
    f"(?:[Zz]|[+-]{_DIGIT}{{2}}:?{_DIGIT}{{2}})?)"
)
_PREFIXED_HEX: Final = f"[Xx](?<=0.)({_HEX}++){_WORD_END}"
_IP: Final = rf"{_DIGIT}{{0,2}}+\.{_DIGIT}{{1,3}}+\.{_DIGIT}{{1,3}}+\.({_DIGIT}{{1,3}}+){_WORD_END}"
_ULID_CHARACTER: Final = "[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]"
_ULID: Final = f"{_ULID_CHARACTER}(?<=[0-7].)({_ULID_CHARACTER}{{24}}){_WORD_END}"
_NUMBER: Final = f"({_DIGIT}*+)"

CODE_MARK: Final = SPACES[-1]
"""Stands before each digit of a code while tokens are replaced. By then the text has no spaces but blanks."""

_ANNOUNCED: Final = (
    "(?<![0-9A-Za-z])(?:[Hh][Tt][Tt][Pp](?:/(?:[0-9](?:[.][0-9])?|<n>))?|[Ss][Mm][Tt][Pp]|[Ff][Tt][Pp]"
    "|[Ss][Tt][Aa][Tt][Uu][Ss]|[Ee][Rr][Rr][Nn][Oo]|[Cc][Oo][Dd][Ee]|[Ee][Xx][Ii][Tt]|[Ss][Ii][Gg][Nn][Aa][Ll])"
    "(?:[ _]?(?:[Ss][Tt][Aa][Tt][Uu][Ss]|[Ee][Rr][Rr][Oo][Rr]|[Rr][Ee][Pp][Ll][Yy]|[Cc][Oo][Dd][Ee])){0,2}"
    "(?: ?[:=(#] ?| is | of | )"
)
_UNITS: Final = (
    "m?s|secs?|seconds?|mins?|minutes?|h|hours?|d|days?|b|[kKMG]i?[bB]|[Bb]ytes|of|rows?|lines?|items?|files?|jobs?"
    "|times|tries|retries|attempts|requests|messages|mails|e-mails|emails|records|orders|users|events|more|x"
)
_CLAUSE: Final = "(?:^|: )[(]?"
_NOT_A_CODE: Final = f"(?![{_WORD}]|[.,:/][0-9]| ?%|[ -][0-9](?![.][0-9][.])| ?(?:{_UNITS})(?![A-Za-z_]))"

CODE: Final = (
    f"({_ANNOUNCED}(?={_DIGIT}{{1,3}}(?![{_WORD}]|[.,][0-9]))"
    f"|{_CLAUSE}(?=[45]{_DIGIT}{_DIGIT}{_NOT_A_CODE}|[1-3]{_DIGIT}{_DIGIT} [A-Z]))"
    f"({_DIGIT})({_DIGIT}?)({_DIGIT}?)"
)
"""What comes before a code, and its digits.

At the beginning of a clause 1xx to 3xx need a word with a capital behind them (`302 Found`), and 4xx and 5xx are none
if a unit follows: `timeout: 500 ms`, `500 rows failed`.
"""

MARKED_CODE: Final = f"$1{CODE_MARK}$2{CODE_MARK}$3{CODE_MARK}$4"
"""What stands for a CODE, as Java writes it."""

TOKEN: Final = (
    f"{_HEX}(?<!{CODE_MARK}.)(?<![{_WORD}][A-Fa-f])(?:(?<=[0-9])(?:"
    f"(?<![{_WORD}].)(?:(?={_HEX}{{7}})(?:{_UUID}|{_DIGEST_AFTER_DIGIT})|{_TIME}|{_PREFIXED_HEX}|{_IP}|{_ULID})"
    f"|{_NUMBER})"
    f"|(?={_HEX}{{7}})(?:{_UUID}|{_DIGEST_AFTER_LETTER}))"
)
"""An id, digest, time or address, which begins where a word does, or else a run of digits anywhere.

The group that matches tells which. That of a number is empty if it has one digit.
"""

NUMBER_PLACEHOLDER: Final = "<n>"
PLACEHOLDERS: Final = (
    "<id>", "<hex>", "<time>", "<hex>", "<ip>", "<id>", NUMBER_PLACEHOLDER, "<id>", "<hex>",
)  # fmt: skip
"""What stands for a TOKEN, by the group that matches. A digest has a letter and a digit, so a word is none."""

HEAD: Final = f"^(?:[^>]*+>){{{PLACEHOLDERS_MAX}}}"
"""A pattern up to its last placeholder, if it has as many as it may."""

NUMBER_PARTS: Final = f"{NUMBER_PLACEHOLDER}(?>[.,]{NUMBER_PLACEHOLDER})++"
"""A number of several runs of digits, of which one placeholder is left."""

_EMAIL_RE: Final = re.compile(EMAIL)
_CODE_RE: Final = re.compile(CODE)
_MARKED_CODE: Final = MARKED_CODE.replace("$", "\\")
_TOKEN_RE: Final = re.compile(TOKEN)
_HEAD_RE: Final = re.compile(HEAD)
_NUMBER_PARTS_RE: Final = re.compile(NUMBER_PARTS)


def pattern_of(*, error: str, outcome: str) -> str:
    """`timeout after 31 ms` → `timeout after <n> ms`: times, numbers, ids and addresses become placeholders.

    Codes stay. Of a Python traceback only its last line counts, which names the exception.
    `outcome`: as in a dead letter.
    """
    text = error.strip()
    if not text:
        return LEASE_LOST if outcome == "lease_lost" else NO_TEXT
    if text.startswith(TRACEBACK):
        text = text[max(text.rfind("\n"), text.rfind("\r")) + 1 :]
    text = " ".join(text[:TEXT_MAX].split(None, WORDS_MAX)[:WORDS_MAX])[:PATTERN_MAX]
    # More than PLACEHOLDERS_MAX replacements of a kind would be behind the pattern's end.
    if "@" in text:
        text = _EMAIL_RE.sub(EMAIL_PLACEHOLDER, text, PLACEHOLDERS_MAX)
    text = _CODE_RE.sub(_MARKED_CODE, text)
    text = _TOKEN_RE.sub(_placeholder, text, PLACEHOLDERS_MAX).replace(CODE_MARK, "")
    if head := _HEAD_RE.match(text):
        text = head[0]
    return _NUMBER_PARTS_RE.sub(NUMBER_PLACEHOLDER, text)[:PATTERN_MAX]


def _placeholder(token: re.Match[str]) -> str:
    return PLACEHOLDERS[token.lastindex - 1]  # type: ignore[operator]  # one of the groups has matched
