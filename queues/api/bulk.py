"""Finds the raw texts of a JSON array's elements, as Go's `[]json.RawMessage` does: byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from json.scanner import make_scanner
from time import sleep
from typing import Any, Final, NoReturn

from queues.engine.limits import BODY_MAX_BYTES, BULK_MAX_JOBS, BULK_STEP_BYTES

from .errors import JobTooLargeError, ParameterError

NOT_AN_ARRAY: Final = "request body should be an array of objects"
_WINDOW: Final = 4 * BODY_MAX_BYTES
_LONGEST_TOKEN: Final = 16
"""A cut inside `\\ud83d\\ude00` or `-Infinity` makes the scanner stop at its beginning."""
_PAUSE_BYTES: Final = 64 * 1024
"""After so many bytes other threads, the event loop's above all, are let run: by itself Python does that every 5 ms."""

_SPACE = re.compile(rb"[ \t\n\r]*+")


def find_elements(body: bytes | bytearray) -> list[slice]:
    """Where the elements are. Raises ParameterError, or JobTooLargeError if one is longer than BODY_MAX_BYTES.

    White space around an element is not part of it. The bytes are read as Latin-1, so one character is one byte and
    positions need no conversion: to JSON's syntax, bytes above 127 are all alike (fine in strings, nowhere else).
    That also lets bytes through that are not UTF-8, as Go does.
    """
    position = _skip_space(body, 0)
    if body[position : position + 1] != b"[":
        raise ParameterError("no jobs" if body.strip(b" \t\n\r") == b"null" else NOT_AN_ARRAY)
    position = _skip_space(body, position + 1)
    elements: list[slice] = []
    if body[position : position + 1] == b"]":
        _check_end(body, position)
        raise ParameterError("no jobs")
    window = _Window(body)
    pause_at = position + _PAUSE_BYTES
    while True:
        end = window.end_of_value(position)
        if end >= pause_at:
            sleep(0)
            pause_at = end + _PAUSE_BYTES
        elements.append(slice(position, end))
        if len(elements) > BULK_MAX_JOBS:
            raise ParameterError("too many jobs")
        position = _skip_space(body, end)
        match body[position : position + 1]:
            case b",":
                position = _skip_space(body, position + 1)
            case b"]":
                break
            case _:
                raise ParameterError(NOT_AN_ARRAY)
    _check_end(body, position)
    return elements


def bodies_by_step(body: bytes | bytearray, elements: Sequence[slice]) -> Iterator[list[bytes]]:
    """The elements' raw texts, as many at a time as one script call is to add. A text is copied when it is its turn."""
    view = memoryview(body)
    bodies: list[bytes] = []
    room = BULK_STEP_BYTES
    for element in elements:
        room -= element.stop - element.start
        if room < 0 and bodies:
            yield bodies
            bodies, room = [], BULK_STEP_BYTES - (element.stop - element.start)
        bodies.append(bytes(view[element]))
    yield bodies


class _Window:
    """The part of the body that the scanner sees, as text: never much more than one job may hold, so that a hostile
    array of millions of tiny values cannot fill the memory with them."""

    __slots__ = ("_body", "_offset", "_part")

    def __init__(self, body: bytes | bytearray) -> None:
        self._body = memoryview(body)
        self._move_to(0)

    def _move_to(self, offset: int) -> None:
        self._offset = offset
        self._part = str(self._body[offset : offset + _WINDOW], "latin-1")

    def end_of_value(self, position: int) -> int:
        """Where the JSON value that begins at `position` ends."""
        seen_to = self._offset + len(self._part)
        if seen_to < len(self._body) and seen_to - position < BODY_MAX_BYTES + _LONGEST_TOKEN:
            self._move_to(position)
        try:
            end = _end_of(self._part, position - self._offset)
        except (StopIteration, json.JSONDecodeError, RecursionError) as error:
            if self._offset + len(self._part) < len(self._body) and self._failed_at_the_end(error):
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


def _skip_space(body: bytes | bytearray, position: int) -> int:
    match = _SPACE.match(body, position)
    assert match is not None, "the pattern matches the empty string"
    return match.end()


def _check_end(body: bytes | bytearray, closing: int) -> None:
    """Nothing but white space may follow the closing bracket."""
    if _skip_space(body, closing + 1) != len(body):
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
