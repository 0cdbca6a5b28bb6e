"""Lengths of time that people type."""

from __future__ import annotations

import pytest

from dashboard.durations import DurationError, parse_duration, write_duration
from tests.support.rows import in_one_test

MOST: int = 4_294_967_295


@in_one_test(
    ("text", "seconds"),
    [
        ("0", 0),
        ("90", 90),
        ("90s", 90),
        (" 5m ", 300),
        ("5 min", 300),
        ("1.5h", 5_400),
        ("1h30m", 5_400),
        ("1 h 30 min", 5_400),
        ("1D", 86_400),
        ("2w", 1_209_600),
        ("4294967295", MOST),
    ],
)
def test_a_length_of_time_is_read_with_its_unit(text: str, seconds: int) -> None:
    assert parse_duration(text, most_s=MOST) == seconds


@in_one_test(
    ("text", "says"),
    [
        ("", "Write a length of time"),
        ("soon", "Write a length of time"),
        ("5x", "Write a length of time"),
        ("5m1h", "Write a length of time"),
        ("5m5m", "Write a length of time"),
        ("-5m", "Write a length of time"),
        ("1h30", "Write a length of time"),
        ("٥m", "Write a length of time"),
        ("1" * 41, "Write a length of time"),
        ("1.5s", "not a whole number"),
        ("1s", "At least 1m"),
        ("4294967296", "At most 4,294,967,295 seconds"),
        ("999999999999w", "At most"),
    ],
)
def test_what_is_wrong_with_one_is_said(text: str, says: str) -> None:
    with pytest.raises(DurationError, match=says):
        parse_duration(text, least_s=60, most_s=MOST)


@in_one_test("seconds", [0, 1, 59, 60, 90, 3_600, 5_401, 86_400, 90_061, MOST])
def test_what_is_written_is_read_again(seconds: int) -> None:
    assert parse_duration(write_duration(seconds), most_s=MOST) == seconds


def test_the_largest_units_come_first() -> None:
    assert [write_duration(seconds) for seconds in (0, 300, 5_400, 86_400, 604_800)] == [
        "0s",
        "5m",
        "1h30m",
        "1d",
        "7d",
    ]
