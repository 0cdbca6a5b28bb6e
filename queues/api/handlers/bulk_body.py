"""Cuts a JSON array into the raw texts of its elements, as Go's `[]json.RawMessage` does: byte for byte.

A parser that makes values needs memory for each of them, and works on one hostile value for as long as that takes. This
one only checks the syntax (RFC 8259) and finds where elements end: regular expressions match what fits into PART_BYTES
and is not nested too deeply, a stack holds the rest together. It yields every SLICE_S, so that others are served.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from time import perf_counter
from typing import Final, NamedTuple, TypeAlias

from queues.engine.constants import BODY_MAX_BYTES, BULK_MAX_JOBS

from ..http.errors import JobTooLargeError, ParameterError

NOT_AN_ARRAY: Final = "request body should be an array of objects"

SLICE_S: Final = 0.001
"""Work between two yields, seconds."""

SWITCH_INTERVAL_S: Final = 0.0005
"""How long the event loop waits for the thread that compiles the patterns, each time; Python's default is 5 ms."""

DEPTH_MAX: Final = 10_000
"""Arrays and objects within each other; the bound of Go's decoder."""

PART_BYTES: Final = 4_096
"""How far one match of values looks."""

STRING_BYTES: Final = 32_768
"""How much of a long string one step skips."""

PLAIN_MIN_BYTES: Final = 512
"""Characters without an escape that are skipped without a regular expression, at a third of the time."""

NESTING: Final = 4
"""Arrays and objects within each other that one match recognises."""

_STEPS: Final = 4
"""Steps, of at most 0.3 ms each, between two looks at the clock."""

# A group that is repeated possessively (`*+`) is atomic (`(?>...)`). Where a repetition of another fails half-way,
# Python before 3.11.5 does not go back to the end of the repetition before (gh-100061).
_SPACE: Final = rb"[ \t\n\r]*+"
_CONTROL: Final = bytes(range(0x20))
_CHARACTERS: Final = rb'(?>[ !#-\[\]-\xff]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))'
_STRING: Final = rb'"' + _CHARACTERS + rb'{0,32}+"'
_NUMBER: Final = rb"-?+(?:0|[1-9][0-9]*+)(?>\.[0-9]++)?+(?>[eE][+-]?+[0-9]++)?+"
_SCALAR: Final = rb"(?:" + _STRING + rb"|" + _NUMBER + rb"|true|false|null)"
_MEMBER: Final = _STRING + _SPACE + rb":" + _SPACE


def _value(nesting: int) -> bytes:
    """The pattern of a value with so many arrays and objects within each other."""
    if not nesting:
        return _SCALAR
    inner = _value(nesting - 1) + _SPACE
    array = rb"\[" + _SPACE + rb"(?>" + inner + rb"(?:," + _SPACE + rb"(?!\])|(?=\])))*+\]"
    members = rb"\{" + _SPACE + rb"(?>" + _MEMBER + inner + rb"(?:," + _SPACE + rb"(?!\})|(?=\})))*+\}"
    return rb"(?:" + _SCALAR + rb"|" + array + rb"|" + members + rb")"


_VALUE: Final = _value(NESTING)

_skip_space = re.compile(_SPACE).match
_match_scalar = re.compile(_SCALAR).match
_match_key = re.compile(_MEMBER).match
_match_characters = re.compile(_CHARACTERS + rb"{0,1024}+").match

_SPACE_MAX: Final = 65_536
"""White space between two elements that is skipped at once."""

_LONGEST_TOKEN: Final = 16
"""A token that the window's end cuts, such as `\\ud83d` or `false`, is not recognised so many bytes before it."""

_QUOTE, _COLON, _COMMA, _ARRAY, _ARRAY_END, _OBJECT, _OBJECT_END = b'":,[]{}'
_CLOSING: Final = {_ARRAY: _ARRAY_END, _OBJECT: _OBJECT_END}
_NOTHING: Final = -1

Body = bytes | bytearray
_Match: TypeAlias = Callable[[Body, int, int], re.Match[bytes] | None]


class _Matchers(NamedTuple):
    value: _Match
    items: _Match
    members: _Match


@cache
def _matchers() -> _Matchers:
    return _compilation().result()


@cache
def _compilation() -> Future[_Matchers]:
    """The large patterns, which a thread compiles. `cache` does not lock: two threads that ask first compile twice."""
    executor = ThreadPoolExecutor(1, thread_name_prefix="taskq-patterns")
    compilation = executor.submit(_compile)
    executor.shutdown(wait=False)
    return compilation


def _compile() -> _Matchers:
    # The compiler is Python, so the event loop has to wait for the lock of the interpreter each time that it wakes up.
    switch_interval_s = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        return _Matchers(
            value=re.compile(rb"(" + _VALUE + rb")" + _SPACE).match,
            items=re.compile(rb"(?>" + _VALUE + _SPACE + rb"," + _SPACE + rb")*+").match,
            members=re.compile(rb"(?>" + _MEMBER + _VALUE + _SPACE + rb"," + _SPACE + rb")*+").match,
        )
    finally:
        sys.setswitchinterval(switch_interval_s)


async def prepare() -> None:
    """Have the large patterns compiled before `split_array` is called on an event loop.

    That takes 50 ms of a processor, once in a process: too long for a start, as most processes never split an array,
    and for the event loop. So the first bulk publish has a thread do it, for which those that come meanwhile wait, too.
    """
    compilation = _compilation()
    if not compilation.done():
        await asyncio.shield(asyncio.wrap_future(compilation))  # one caller that is cancelled is not the only one


def split_array(body: Body) -> Generator[None, None, list[bytes]]:
    """The elements' raw texts, as the generator's return value; it yields after each SLICE_S of work.

    White space around an element is not part of it. Bytes above 127 are fine in strings, UTF-8 or not, as in Go.
    Raises ParameterError, or JobTooLargeError if an element is longer than BODY_MAX_BYTES.
    """
    position = yield from _after_space(body, 0)
    if _byte(body, position) != _ARRAY:
        is_null = len(body) <= _SPACE_MAX and body.strip(b" \t\n\r") == b"null"
        raise ParameterError("no jobs" if is_null else NOT_AN_ARRAY)
    position = yield from _after_space(body, position + 1)
    elements: list[bytes] = []
    view = memoryview(body)
    match_value = _matchers().value
    began = perf_counter()
    following = _byte(body, position)
    while following != _ARRAY_END or elements:
        part_end = position + PART_BYTES
        value = match_value(body, position, part_end)
        if value is not None and value.end() < part_end:
            elements.append(value[1])
            position = value.end()
            is_long = not len(elements) % _STEPS
        else:
            end = yield from _Element(body, position).end()
            elements.append(view[position:end].tobytes())
            position = yield from _after_space(body, end)
            is_long = True
        if len(elements) > BULK_MAX_JOBS:
            raise ParameterError("too many jobs")
        following = _byte(body, position)
        if following == _ARRAY_END:
            break
        if following != _COMMA:
            raise ParameterError(NOT_AN_ARRAY)
        position = yield from _after_space(body, position + 1)
        if is_long and perf_counter() - began > SLICE_S:
            yield
            began = perf_counter()
    if (yield from _after_space(body, position + 1)) != len(body):
        raise ParameterError(NOT_AN_ARRAY)
    if not elements:
        raise ParameterError("no jobs")
    return elements


class _Element:
    """One element of the array: looked at within a window that ends behind the longest that a job may be."""

    __slots__ = ("_body", "_limit", "_start", "_steps", "_worked_since")

    def __init__(self, body: Body, start: int) -> None:
        self._body = body
        self._start = start
        self._limit = min(len(body), start + BODY_MAX_BYTES + 2)
        self._steps = 0
        self._worked_since = perf_counter()

    def end(self) -> Generator[None, None, int]:
        """Where it ends. Raises ParameterError, JobTooLargeError."""
        body, limit = self._body, self._limit
        position = self._start
        _, match_items, match_members = _matchers()
        stack = bytearray()
        is_new = False
        """Whether the array or object on the stack has just begun: it may end, or hold something."""
        while True:
            if self._is_long():
                yield
                self._worked_since = perf_counter()
            if stack:
                run = (match_items if stack[-1] == _ARRAY else match_members)(
                    body, position, min(limit, position + PART_BYTES)
                )
                assert run is not None, "the pattern matches the empty string"
                if run.end() > position:
                    position, is_new = run.end(), False
            if not (is_new and self._byte(position) == _CLOSING[stack[-1]]):
                if stack and stack[-1] == _OBJECT:
                    position = yield from self._skip_key(position)
                following = self._byte(position)
                look_end = min(limit, position + PART_BYTES) if following == _QUOTE else limit
                scalar = _match_scalar(body, position, look_end)
                if scalar is not None:
                    position = scalar.end()
                elif following == _QUOTE:
                    position = yield from self._skip_string(position)
                elif following in _CLOSING and len(stack) < DEPTH_MAX:
                    stack.append(following)
                    position = self._skip_space(position + 1)
                    is_new = True
                    continue
                else:
                    raise self._refusal(position)
            is_new = False
            # A value has ended, and so may what it is in.
            while stack:
                position = self._skip_space(position)
                if self._byte(position) != _CLOSING[stack[-1]]:
                    break
                stack.pop()
                position += 1
                if self._is_long():
                    yield
                    self._worked_since = perf_counter()
            if not stack:
                if position - self._start > BODY_MAX_BYTES:
                    raise JobTooLargeError("job too large")
                return position
            if self._byte(position) != _COMMA:
                raise self._refusal(position)
            position = self._skip_space(position + 1)

    def _skip_key(self, position: int) -> Generator[None, None, int]:
        """Where the value of the member at `position` begins."""
        look_end = min(self._limit, position + PART_BYTES)
        key = _match_key(self._body, position, look_end)
        if key is not None and (key.end() < look_end or look_end == self._limit):
            return key.end()
        if self._byte(position) != _QUOTE:
            raise self._refusal(position)
        position = yield from self._skip_string(position)
        position = self._skip_space(position)
        if self._byte(position) != _COLON:
            raise self._refusal(position)
        return self._skip_space(position + 1)

    def _skip_string(self, position: int) -> Generator[None, None, int]:
        """Where the string at `position` ends."""
        position += 1
        while True:
            end = self._skip_characters(position, min(self._limit, position + STRING_BYTES))
            if self._byte(end) == _QUOTE:
                return end + 1
            if end == position:
                raise self._refusal(position)
            position = end
            if self._is_long():
                yield
                self._worked_since = perf_counter()

    def _skip_characters(self, position: int, most: int) -> int:
        """Where characters of a string that are valid end, `most` at the latest. It may be called again from there."""
        body = self._body
        quote = body.find(b'"', position, most)
        end = most if quote < 0 else quote
        escape = body.find(b"\\", position, end)
        if escape >= 0:
            end = escape
        if end - position >= PLAIN_MIN_BYTES and len(body[position:end].translate(None, _CONTROL)) == end - position:
            return end
        return _end(_match_characters(body, position, most))

    def _skip_space(self, position: int) -> int:
        return _end(_skip_space(self._body, position, self._limit))

    def _byte(self, position: int) -> int:
        return self._body[position] if position < self._limit else _NOTHING

    def _is_long(self) -> bool:
        """Whether it has worked for SLICE_S."""
        self._steps += 1
        return not self._steps % _STEPS and perf_counter() - self._worked_since > SLICE_S

    def _refusal(self, position: int) -> Exception:
        """What is wrong at `position`: where the window may have cut something, that the element is too long."""
        if self._limit < len(self._body) and self._limit - position <= _LONGEST_TOKEN:
            return JobTooLargeError("job too large")
        return ParameterError(NOT_AN_ARRAY)


def _after_space(body: Body, position: int) -> Generator[None, None, int]:
    """Where the white space at `position` between two elements ends."""
    while True:
        end = _end(_skip_space(body, position, position + _SPACE_MAX))
        if end < position + _SPACE_MAX:
            return end
        position = end
        yield


def _byte(body: Body, position: int) -> int:
    return body[position] if position < len(body) else _NOTHING


def _end(match: re.Match[bytes] | None) -> int:
    assert match is not None, "the pattern matches the empty string"
    return match.end()
