"""A body or result as a person reads it: text, JSON laid out, or hex; never more of it than a page can bear."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from django.utils.safestring import SafeString

from .formatting import count_invisible, escape_visibly

SHOWN_BYTES: Final = 64 * 1024
"""So much of a body a page shows; the whole of it can be downloaded."""

HEX_BYTES: Final = 4 * 1024
FOLDED_LINES: Final = 24
FOLDED_CHARACTERS: Final = 2_000
"""What is longer is folded until a person opens it."""

JSON_DEPTH_MAX: Final = 200
LAID_OUT_MAX: Final = 8 * SHOWN_BYTES
"""JSON that is deeper, or would be longer laid out (all indentation then), is shown as it came."""

_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{},:]|[^\s\[\]{},:"]++')
"""A string that does not end goes to the end of the text: else each quotation mark in it would be tried anew."""


class BodyForm(StrEnum):
    """How bytes are shown."""

    TEXT = "text"
    JSON = "json"
    HEX = "hex"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBody:
    """`size`: bytes of the whole; `shown`: bytes of it that are in `html`. `forms`: which can be asked for.

    `is_valid_text` False: not UTF-8, so as text it has replacement characters. `odd`: characters that are marked.
    """

    form: BodyForm
    forms: tuple[BodyForm, ...]
    html: SafeString
    size: int
    shown: int
    is_valid_text: bool
    is_long: bool
    odd: int

    @property
    def is_cut(self) -> bool:
        return self.shown < self.size


def show_body(body: bytes, *, size: int | None = None, form: BodyForm | None = None) -> ShownBody:
    """`body` may be the beginning only of `size` bytes. `form` None: what suits it; one that does not gives way."""
    whole = len(body) if size is None else size
    part = body[:SHOWN_BYTES]
    text, is_valid = _decode(part, is_cut=len(part) < whole)
    laid_out = lay_out_json(text) if is_valid and len(part) == whole else None
    forms = (*((BodyForm.JSON,) if laid_out is not None else ()), BodyForm.TEXT, BodyForm.HEX)
    if form is None or form not in forms:
        form = forms[0] if is_valid else BodyForm.HEX
    if form is BodyForm.HEX:
        part = part[:HEX_BYTES]
        shown_text = "\n".join(_hex_lines(part))
    else:
        shown_text = laid_out if form is BodyForm.JSON and laid_out is not None else text
    return ShownBody(
        form=form,
        forms=forms,
        html=escape_visibly(shown_text),
        size=whole,
        shown=len(part),
        is_valid_text=is_valid,
        is_long=len(shown_text) > FOLDED_CHARACTERS or shown_text.count("\n") >= FOLDED_LINES,
        odd=count_invisible(shown_text),
    )


def preview_line(body: bytes, *, size: int, characters: int = 80) -> SafeString:
    """The beginning of a body in one line."""
    text, is_valid = _decode(body, is_cut=len(body) < size)
    if not is_valid:
        text = body[: characters // 3].hex(" ")
    line = " ".join(text.split())
    is_cut = len(line) > characters or len(body) < size
    return escape_visibly(line[:characters] + ("…" if is_cut else ""))


def lay_out_json(text: str) -> str | None:
    """JSON with a line for each value; None for what is no JSON object or array, or is too deep. Linear time.

    Only the blanks between tokens change: numbers, escapes and the order of keys stay what they were, which parsing and
    writing anew would not promise.
    """
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        json.loads(text, parse_int=str, parse_float=str, parse_constant=_refuse)
    except (ValueError, RecursionError):  # the parser stops a recursion long before the stack is used up
        return None
    laid_out: list[str] = []
    depth = length = 0
    before = ""
    for part in _TOKEN.findall(text):
        if part in "]}":
            depth -= 1
        if part == ":":
            shown = ": "
        elif not before or before == ":" or part == "," or (part in "]}" and before in "[{"):
            shown = part
        else:
            shown = "\n" + "  " * depth + part
        if part in "[{":
            depth += 1
        length += len(shown)
        if depth > JSON_DEPTH_MAX or length > LAID_OUT_MAX:
            return None
        laid_out.append(shown)
        before = part
    return "".join(laid_out)


def _refuse(name: str) -> None:
    raise ValueError(name)  # NaN and Infinity are no JSON


def _decode(part: bytes, *, is_cut: bool) -> tuple[str, bool]:
    """The text, and whether it is UTF-8; a character that was cut in two at the end is left out."""
    try:
        return part.decode(), True
    except UnicodeDecodeError as error:
        if is_cut and error.start >= len(part) - 3 and error.reason == "unexpected end of data":
            return part[: error.start].decode(), True
        return part.decode("utf-8", "replace"), False


def _hex_lines(part: bytes) -> Iterator[str]:
    """`00000010  48 65 6c 6c 6f ...  Hello...`"""
    for offset in range(0, len(part), 16):
        row = part[offset : offset + 16]
        left, right = row[:8].hex(" "), row[8:].hex(" ")
        letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        yield f"{offset:08x}  {left:<23}  {right:<23}  {letters}"
