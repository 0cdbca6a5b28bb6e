"""Cutting a JSON array: against the standard library's parser, and against arrays that mean no good."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queues.api.handlers import bulk_body
from queues.api.http.errors import JobTooLargeError, ParameterError
from queues.engine.constants import BODY_MAX_BYTES
from tests.support.rows import in_one_test

MIB = 1024 * 1024


SPACE = st.text(" \t\r\n", max_size=3)
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
SCALAR = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUE = st.recursive(SCALAR, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4))


def split_array(body: bytes) -> list[bytes]:
    """To the end, whatever it yields."""
    splitting = bulk_body.split_array(body)
    while True:
        try:
            next(splitting)
        except StopIteration as end:
            elements: list[bytes] = end.value
            return elements


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """The patterns that are compiled from now on. The process has not split an array yet."""
    patterns: list[bytes] = []
    compile_one = re.compile

    def note(pattern: bytes) -> re.Pattern[bytes]:
        patterns.append(pattern)
        return compile_one(pattern)

    bulk_body._matchers.cache_clear()
    bulk_body._compilation.cache_clear()
    re.purge()
    with monkeypatch.context() as patched:
        patched.setattr("re.compile", note)
        yield patterns


def test_first_callers_have_the_patterns_compiled_once(compiled: list[bytes]) -> None:
    async def prepare() -> None:
        cancelled = asyncio.create_task(bulk_body.prepare())
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.gather(*[bulk_body.prepare() for _ in range(8)])

    interval_s = sys.getswitchinterval()
    asyncio.run(prepare())

    assert split_array(b"[1,[2]]") == [b"1", b"[2]"]
    assert len(compiled) == len(set(compiled)) == len(bulk_body._Matchers._fields)
    assert sys.getswitchinterval() == interval_s


@st.composite
def arrays(draw: Any) -> tuple[bytes, list[bytes]]:
    """The text of an array, and of each of its elements."""
    elements = []
    for value in draw(st.lists(VALUE, min_size=1, max_size=6)):
        style = {"ensure_ascii": draw(st.booleans()), "indent": draw(st.sampled_from([None, 1]))}
        elements.append(json.dumps(value, **style).encode())
    spaced = [draw(SPACE).encode() + element + draw(SPACE).encode() for element in elements]
    return draw(SPACE).encode() + b"[" + b",".join(spaced) + b"]" + draw(SPACE).encode(), elements


@given(arrays())
def test_elements_come_out_as_they_went_in(array: tuple[bytes, list[bytes]]) -> None:
    body, elements = array

    assert split_array(body) == elements


@given(st.binary(max_size=40) | st.text('[]{}",:\\ 0123456789.eE+-truefalsn\x00é', max_size=40).map(str.encode))
@settings(max_examples=500)
def test_whatever_comes_is_cut_as_the_standard_library_reads_it_or_refused(body: bytes) -> None:
    try:
        value = json.loads(body.decode("latin-1"), parse_constant=lambda name: pytest.fail(name))
    except (ValueError, pytest.fail.Exception):
        value = None

    try:
        elements = split_array(body)
    except ParameterError:
        assert not isinstance(value, list) or value == []
    else:
        assert [json.loads(element.decode("latin-1")) for element in elements] == value


@in_one_test(
    "body",
    [
        b"",
        b"{}",
        b"1",
        b"[1,]",
        b"[,1]",
        b"[1 2]",
        b"[1]x",
        b"[1][2]",
        b"[01]",
        b"[1.]",
        b"[NaN]",
        b"[-Infinity]",
        b'["\x01"]',
        b"\xef\xbb\xbf[1]",
        b"[\xa01]",
        b"[1\x0b]",
        b"[" * 100_000 + b"]" * 100_000,
        b'["abc]',
    ],
    title=lambda body: repr(body[:12]),
)
def test_what_is_no_array_is_refused(body: bytes) -> None:
    with pytest.raises(ParameterError, match="request body should be an array of objects"):
        split_array(body)


@pytest.mark.parametrize(
    "body", [b"[" + b"1," * 2000 + b"1]", b"[" + b"{}," * 5 * MIB + b"x"], ids=["2001", "millions"]
)
def test_more_than_a_thousand_are_too_many(body: bytes) -> None:
    with pytest.raises(ParameterError, match="too many jobs"):
        split_array(body)


@pytest.mark.parametrize("body", [b"[]", b" [ \n] ", b"null"])
def test_nothing_is_no_jobs(body: bytes) -> None:
    with pytest.raises(ParameterError, match="no jobs"):
        split_array(body)


def text_of(size: int) -> bytes:
    return b'"' + b"x" * (size - 2) + b'"'


def test_elements_of_the_largest_size_pass_wherever_they_lie() -> None:
    elements = [text_of(BODY_MAX_BYTES)] * 9

    assert split_array(b"[" + b",".join(elements) + b"]") == elements


@in_one_test(
    "element",
    [
        text_of(BODY_MAX_BYTES + 1),
        text_of(8 * MIB),
        b"[" + b",".join([text_of(3 * MIB)] * 3) + b"]",
        b"1" * 8 * MIB,
        b"[" + b"1," * 4 * MIB + b"1]",
    ],
)
def test_an_element_that_is_too_large_is_refused(element: bytes) -> None:
    with pytest.raises(JobTooLargeError):
        split_array(b"[1," + element + b"]")


def test_bytes_that_are_not_utf8_pass_as_in_go() -> None:
    assert split_array(b'["\xff\xfe", "\\ud800"]') == [b'"\xff\xfe"', b'"\\ud800"']


@in_one_test("before", range(8))
@in_one_test("window", [bulk_body.STRING_BYTES, bulk_body.PART_BYTES])
def test_an_escape_where_a_look_ends_is_part_of_the_string(window: int, before: int) -> None:
    element = b'"' + b"x" * (window - before) + b"\\u00e9" + b"y" * 2 * bulk_body.STRING_BYTES + b'\\"' + b'"'

    assert split_array(b"[" + element + b",1]") == [element, b"1"]


@in_one_test("place", [0, bulk_body.PLAIN_MIN_BYTES, bulk_body.STRING_BYTES - 1, bulk_body.STRING_BYTES, 100_000])
def test_a_control_character_in_a_long_string_is_refused(place: int) -> None:
    with pytest.raises(ParameterError):
        split_array(b'["' + b"x" * place + b"\x1f" + b"x" * 100_000 + b'"]')


@in_one_test("spaces", [0, 1, 2, 3])
@in_one_test("size", [bulk_body.PART_BYTES - 6, bulk_body.PART_BYTES - 4, bulk_body.PART_BYTES - 3, 100_000])
def test_a_long_key_is_a_key(size: int, spaces: int) -> None:
    element = b'{"' + b"k" * size + b'"' + b" " * spaces + b":" + b" " * spaces + b'"v","b":' + b"1" * 5_000 + b"}"

    assert split_array(b"[" + element + b"]") == [element]
