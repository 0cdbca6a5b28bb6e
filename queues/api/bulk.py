"""Cuts a JSON array into the raw texts of its elements, as Go's `[]json.RawMessage` does: byte for byte."""

from __future__ import annotations

import json
import re
from json.scanner import make_scanner
from typing import Any, Final, NoReturn

from queues.engine.limits import BODY_MAX_BYTES, BULK_MAX_JOBS

from .errors import JobTooLargeError, ParameterError

NOT_AN_ARRAY: Final = "request body should be an array of objects"
_WINDOW: Final = 4 * BODY_MAX_BYTES
_LONGEST_TOKEN: Final = 16
"""A cut inside `\\ud83d\\ude00` or `-Infinity` makes the scanner stop at its beginning."""
_SPACE = re.compile(r"[ \t\n\r]*+")


def split_array(body: bytes) -> list[bytes]:
    """The elements' raw texts. Raises ParameterError, or JobTooLargeError if one is longer than BODY_MAX_BYTES.

    White space around an element is not part of it. The bytes are read as Latin-1, so one character is one byte and
    positions need no conversion: to JSON's syntax, bytes above 127 are all alike (fine in strings, nowhere else).
    That also lets bytes through that are not UTF-8, as Go does.
    """
    text = body.decode("latin-1")
    position = _skip_space(text, 0)
    if text[position : position + 1] != "[":
        raise ParameterError("no jobs" if text.strip(" \t\n\r") == "null" else NOT_AN_ARRAY)
    position = _skip_space(text, position + 1)
    elements: list[bytes] = []
    if text[position : position + 1] == "]":
        _check_end(text, position)
        raise ParameterError("no jobs")
    window = _Window(text)
    while True:
        end = window.end_of_value(position)
        elements.append(body[position:end])
        if len(elements) > BULK_MAX_JOBS:
            raise ParameterError("too many jobs")
        position = _skip_space(text, end)
        match text[position : position + 1]:
            case ",":
                position = _skip_space(text, position + 1)
            case "]":
                break
            case _:
                raise ParameterError(NOT_AN_ARRAY)
    _check_end(text, position)
    return elements


class _Window:
    """The part of the text that the scanner sees: never much more than one job may hold, so that a hostile array of
    millions of tiny values cannot fill the memory with them."""

    __slots__ = ("_offset", "_part", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._offset = 0
        self._part = text[:_WINDOW]

    def end_of_value(self, position: int) -> int:
        """Where the JSON value that begins at `position` ends."""
        seen_to = self._offset + len(self._part)
        if seen_to < len(self._text) and seen_to - position < BODY_MAX_BYTES + _LONGEST_TOKEN:
            self._offset = position
            self._part = self._text[position : position + _WINDOW]
        try:
            end = _end_of(self._part, position - self._offset)
        except (StopIteration, json.JSONDecodeError, RecursionError) as error:
            if self._offset + len(self._part) < len(self._text) and self._failed_at_the_end(error):
                raise JobTooLargeError("job too large") from None
            raise ParameterError(NOT_AN_ARRAY) from None
        if end + self._offset - position > BODY_MAX_BYTES:
            raise JobTooLargeError("job too large")
        return end + self._offset

    def _failed_at_the_end(self, error: Exception) -> bool:
        """Whether the scanner may have failed only because the window ends inside the value, which is thus too large.

        It names the place where it stopped; of a text that does not end, the place where it begins.
        """
        if isinstance(error, json.JSONDecodeError):
            return error.msg.startswith("Unterminated string") or error.pos >= len(self._part) - _LONGEST_TOKEN
        return isinstance(error, StopIteration) and error.value >= len(self._part) - _LONGEST_TOKEN


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    assert match is not None, "the pattern matches the empty string"
    return match.end()


def _check_end(text: str, closing: int) -> None:
    """Nothing but white space may follow the closing bracket."""
    if _skip_space(text, closing + 1) != len(text):
        raise ParameterError(NOT_AN_ARRAY)


def _refuse_constant(name: str) -> NoReturn:
    raise json.JSONDecodeError(f"{name} is not JSON", name, 0)


# The values are thrown away; `bool` is the cheapest way to "read" a number, of any length.
_decoder: Any = json.JSONDecoder(parse_int=bool, parse_float=bool, parse_constant=_refuse_constant)
_scan: Any = make_scanner(_decoder)


def _end_of(text: str, position: int) -> int:
    """Where the value at `position` ends. Raises StopIteration or JSONDecodeError if there is none, RecursionError."""
    _, end = _scan(text, position)
    return int(end)
