"""Reads the body of a job as the message of a task (docs/sdk/message.md), to show name and arguments.

Values are shown as they stand in the body: parsing and writing them anew would change large numbers and escapes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from django.utils.safestring import SafeString

from .bodies import lay_out_json
from .formatting import escape_visibly

ARGUMENTS_SHOWN: Final = 50
"""Of the positional ones, and of those with a name."""

VALUE_CHARACTERS: Final = 2_000
NAME_CHARACTERS: Final = 255

_FIELDS: Final = frozenset(
    {"task", "args", "kwargs", "version", "result", "trace", "payload", "serializer", "encrypted"}
)
_BLANK: Final = re.compile(r"[ \t\n\r]*")


def _refuse(name: str) -> None:
    raise ValueError(name)  # NaN and Infinity are not JSON


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
    return escape_visibly(lay_out_json(value) or value)
