"""A body or result as a person reads it: text, JSON laid out, or hex; never more of it than a page can bear.

The body of a task's job is read as a message (docs/sdk/message.md), to show name and arguments. JSON is coloured, and
its escapes of printable characters are shown as these (`\\u4e2d` as 中). Else values are shown as they stand in the
body: parsing and writing them anew would change large numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final

from django.utils.safestring import SafeString, mark_safe

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

_TOKEN: Final = re.compile(r'"(?>[^"\\]++|\\.)*+"?|[\[\]{},:]|[^\s\[\]{},:"]++')
"""A string that does not end goes to the end of the text: else each quotation mark in it would be tried anew."""

_ESCAPE: Final = re.compile(
    r"\\(?:u([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|.)", re.DOTALL
)
"""An escape within a string of JSON: two surrogates, one character, or any other."""

COLOURED_MAX: Final = 6_000
"""Tokens of JSON that are coloured. Of more a page would become several times as long as the body."""

ARGUMENTS_SHOWN: Final = 50
"""Of the positional ones, and of those with a name."""

VALUE_CHARACTERS: Final = 2_000
NAME_CHARACTERS: Final = 255
_FIELDS: Final = frozenset(
    {"task", "args", "kwargs", "version", "result", "trace", "payload", "serializer", "encrypted"}
)
_BLANK: Final = re.compile(r"[ \t\n\r]*")


class BodyForm(StrEnum):
    """How bytes are shown."""

    TEXT = "text"
    JSON = "json"
    HEX = "hex"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBody:
    """`size`: bytes of the whole; `shown`: bytes of it that are in `html`. `forms`: which can be asked for.

    `is_valid_text` False: not UTF-8, so as text it has replacement characters. `odd`: characters that are marked.
    `is_decoded`: escapes are shown as the characters that they mean.
    """

    form: BodyForm
    forms: tuple[BodyForm, ...]
    html: SafeString
    size: int
    shown: int
    is_valid_text: bool
    is_long: bool
    odd: int
    is_decoded: bool = False

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
    if form is BodyForm.JSON:
        written, shown_text = shown_text, decode_escapes(shown_text)
        is_decoded, html = written != shown_text, colour_json(written)
    else:
        is_decoded, html = False, escape_visibly(shown_text)
    return ShownBody(
        form=form,
        forms=forms,
        html=html,
        is_decoded=is_decoded,
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


def decode_escapes(text: str) -> str:
    """JSON with `\\u4e2d` as 中. What cannot be printed, or would end a string, stays escaped. Linear time."""
    return _ESCAPE.sub(_decoded, text)


def _decoded(escape: re.Match[str]) -> str:
    high, low, one = escape.groups()
    if high is not None:
        character = chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
    elif one is not None:
        character = chr(int(one, 16))
    else:
        return escape[0]
    return character if character.isprintable() and character not in '"\\' else escape[0]


def colour_json(text: str) -> SafeString:
    """Laid-out JSON as HTML with a class for each kind of value; without, if it has more than COLOURED_MAX of them."""
    tokens = list(islice(_TOKEN.finditer(text), COLOURED_MAX + 1))
    if len(tokens) > COLOURED_MAX:
        return escape_visibly(decode_escapes(text))
    pieces: list[str] = []
    at = 0
    for number, token in enumerate(tokens):
        kind = _kind_of(token[0], is_name=number + 1 < len(tokens) and tokens[number + 1][0] == ":")
        shown = escape_visibly(decode_escapes(token[0]) if token[0][0] == '"' else token[0])
        pieces += [text[at : token.start()], f'<span class="json-{kind}">{shown}</span>' if kind else shown]
        at = token.end()
    return mark_safe("".join([*pieces, text[at:]]))  # noqa: S308 - blanks between tokens, and what is escaped


def _kind_of(part: str, *, is_name: bool) -> str:
    if part[0] == '"':
        return "name" if is_name else "string"
    if part in ("true", "false", "null"):
        return "word"
    return "" if part in "[]{},:" else "number"


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


_DECODER: Final = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskMessage:
    """A task's name, and its arguments as HTML. `more`: arguments that are left out.

    `sealed`: why there are no arguments to show: `encrypted`, or the name of a serializer; "": there are.
    """

    task: str
    args: tuple[SafeString, ...]
    kwargs: tuple[tuple[str, SafeString], ...]
    more: int
    sealed: str


def read_task_message(body: bytes) -> TaskMessage | None:
    """None for a body that is not the message of a task. Linear time."""
    try:
        text = body.decode()
        if not text.lstrip(" \t\n\r").startswith("{"):
            return None
        _DECODER.decode(text)  # so that what follows can take its form for granted
        return _read(text)
    except (ValueError, RecursionError):
        return None


def _read(text: str) -> TaskMessage | None:
    fields = dict(_members(text))
    if "task" not in fields or not fields.keys() <= _FIELDS:
        return None
    args, kwargs = fields.get("args", "[]"), fields.get("kwargs", "{}")
    task = _DECODER.decode(fields["task"])
    if not fields["task"].startswith('"') or not task or not args.startswith("[") or not kwargs.startswith("{"):
        return None
    sealed = "encrypted" if "encrypted" in fields else _DECODER.decode(fields.get("serializer", '""'))
    positional = [value for _, value in _members(args)]
    named = list(_members(kwargs))
    return TaskMessage(
        task=task[:NAME_CHARACTERS],
        args=tuple([_show(value) for value in positional[:ARGUMENTS_SHOWN]]),
        kwargs=tuple([(name[:NAME_CHARACTERS], _show(value)) for name, value in islice(named, ARGUMENTS_SHOWN)]),
        more=max(0, len(positional) - ARGUMENTS_SHOWN) + max(0, len(named) - ARGUMENTS_SHOWN),
        sealed=str(sealed)[:NAME_CHARACTERS],
    )


def _members(text: str) -> Iterator[tuple[str, str]]:
    """Names (of an array: "") and values of valid JSON, each value as it is written there."""
    at = _skip_blanks(text, 0)
    is_object = text[at] == "{"
    at = _skip_blanks(text, at + 1)
    while text[at] not in "]}":
        name = ""
        if is_object:
            name, at = _DECODER.raw_decode(text, at)
            at = _skip_blanks(text, at) + 1  # the colon
        start = _skip_blanks(text, at)
        _, at = _DECODER.raw_decode(text, start)
        yield name, text[start:at]
        at = _skip_blanks(text, at)
        if text[at] == ",":
            at = _skip_blanks(text, at + 1)


def _skip_blanks(text: str, at: int) -> int:
    blanks = _BLANK.match(text, at)
    return blanks.end() if blanks else at


def _show(value: str) -> SafeString:
    if len(value) > VALUE_CHARACTERS:
        return escape_visibly(value[:VALUE_CHARACTERS] + "…")
    return colour_json(lay_out_json(value) or value)
