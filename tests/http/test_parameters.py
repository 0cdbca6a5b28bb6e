"""Reading parameters: nothing that a client sends makes anything but a value or the contract's 400."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from queues.api.handlers.publish import read_attributes, read_publish_options
from queues.api.http.errors import ParameterError
from queues.api.http.request import (
    REMEMBERED_MAX_BYTES,
    Headers,
    Query,
    parse_query,
    read_flag,
    read_moment_ms,
    read_seconds_as_ms,
    read_uint,
)
from queues.api.http.response import choose_request_id
from queues.engine.constants import UINT32_MAX
from queues.engine.errors import InvalidArgumentError
from tests.support.rows import in_one_test

NAMES = ("delay", "ttl", "tries", "at", "priority", "key", "key_ttl", "backoff", "retention", "group")
ANYTHING = st.text(max_size=24) | st.integers().map(str) | st.floats().map(str)


@given(st.integers(min_value=0, max_value=UINT32_MAX))
def test_every_number_in_range_is_read(number: int) -> None:
    assert read_uint({"n": str(number)}, "n", 7) == number


@given(ANYTHING)
def test_a_number_is_read_or_refused(text: str) -> None:
    if text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= UINT32_MAX:
        assert read_uint({"n": text}, "n", 7) == int(text)
    else:
        with pytest.raises(ParameterError, match=r"^invalid n$"):
            read_uint({"n": text}, "n", 7)


@given(st.dictionaries(st.sampled_from(NAMES), ANYTHING))
def test_publish_options_are_read_or_refused(query: dict[str, str]) -> None:
    with contextlib.suppress(ParameterError, InvalidArgumentError):
        assert read_publish_options(Query(query), None).delay_ms >= 0


@given(st.binary(max_size=200))
def test_a_query_string_is_read_or_refused(raw: bytes) -> None:
    try:
        query = parse_query(raw)
    except ParameterError:
        assert raw.count(b"&") >= 64
    else:
        assert all(isinstance(value, str) for value in query.values())


def test_only_short_query_strings_and_what_was_made_of_them_are_kept() -> None:
    short, long = b"ttl=9&x=1", b"ttl=9&x=" + b"1" * REMEMBERED_MAX_BYTES

    assert parse_query(short) is parse_query(short)
    assert parse_query(long) is not parse_query(long)
    first, again, one_off = (read_publish_options(parse_query(raw), None) for raw in (short, short, long))
    assert first is again
    asked = parse_query(long)
    assert read_publish_options(asked, None) is not read_publish_options(asked, None)
    assert one_off == first


def test_the_first_of_repeated_parameters_counts() -> None:
    assert parse_query(b"a=1&a=2&b=&c") == {"a": "1", "b": "", "c": ""}


@pytest.mark.parametrize(
    ("text", "milliseconds"), [("0", 0), ("0.25", 250), ("1.0004", 1000), ("4294967295", UINT32_MAX * 1000)]
)
def test_seconds_may_have_decimals(text: str, milliseconds: int) -> None:
    assert read_seconds_as_ms({"delay": text}, "delay") == milliseconds


@given(st.datetimes(min_value=datetime(1970, 1, 2), timezones=st.timezones()))  # noqa: DTZ001 - the strategy adds zones
def test_a_moment_in_iso_form_is_read(moment: datetime) -> None:
    got = read_moment_ms({"at": moment.isoformat()}, "at")

    assert got is not None
    assert abs(got - moment.astimezone(UTC).timestamp() * 1000) <= 1


@in_one_test(("text", "value"), [("1", True), ("true", True), ("T", True), ("0", False), ("False", False)])
def test_flags_are_read_as_go_reads_them(text: str, value: bool) -> None:
    assert read_flag({"f": text}, "f") is value


def test_attributes_are_cut_to_their_bytes() -> None:
    headers = [
        (b"enable-job-version", b"YES"),
        (b"job-attr-" + b"n" * 40, b"v" * 200),
        (b"job-attr-utf8", "é".encode() * 100),
        (b"job-attr-latin1", b"\xe9"),
        (b"job-attr-empty", b""),
        (b"x-job-attr-other", b"x"),
    ]

    assert read_attributes(Headers(headers)) == {"n" * 32: "v" * 128, "utf8": "é" * 64, "latin1": "é"}


@given(st.binary(max_size=150))
@example(b"id\n")
@example(b"id\r\nset-cookie: a=b")
def test_a_request_id_can_be_logged(sent: bytes) -> None:
    chosen = choose_request_id(sent).decode("ascii")

    assert chosen.isprintable()
    assert 0 < len(chosen) <= 128
    assert " " not in chosen
