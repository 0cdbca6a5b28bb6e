"""Errors that differ only in numbers, ids and times are one."""

from __future__ import annotations

from queues.lake.error_patterns import PATTERN_MAX, pattern_of
from tests.support.rows import in_one_test


@in_one_test(
    ("error", "pattern"),
    [
        ("timeout after 31 ms", "timeout after <n> ms"),
        ("timeout after 1,024.5 ms", "timeout after <n> ms"),
        ("no order 7f9c2ba4-e88f-4278-9a5b-1c2d3e4f5a6b", "no order <id>"),
        ("job 01JD5ZQ8Y3VX0N4T6R7S8W9ABC is gone", "job <id> is gone"),
        ("object at 0x7f3a10Ff", "object at <hex>"),
        ("digest 9f86d081884c7d65 differs", "digest <hex> differs"),
        ("a defaced facade is accessed", "a defaced facade is accessed"),
        ("connect to 10.0.0.17:6379 refused", "connect to <ip>:<n> refused"),
        ("mailbox of ann.lee@example.com is full", "mailbox of <email> is full"),
        ("late since 2026-11-21T12:05:07.123Z!", "late since <time>!"),
        ("late since 2026-11-21 12:05:07+01:00", "late since <time>"),
        ("row 1,2026-11-21,deadbeef01,7", "row <n>,<time>,<hex>,<n>"),
        ("took 1.5s of 2s in v12", "took <n>s of <n>s in v<n>"),
        ("  two\n\t lines ", "two lines"),
        ("SMTP 550: 用户不存在 42", "SMTP 550: 用户不存在 <n>"),
    ],
)
def test_what_differs_each_time_becomes_a_placeholder(error: str, pattern: str) -> None:
    assert pattern_of(error=error, outcome="failed") == pattern


@in_one_test(
    ("error", "pattern"),
    [
        ("550 no such host", "550 no such host"),
        ("550 5.1.1 no such user 12", "550 <n> no such user <n>"),
        ("HTTPError: 503 Server Error for job 17", "HTTPError: 503 Server Error for job <n>"),
        ("HTTP Error 404: Not Found", "HTTP Error 404: Not Found"),
        ("HTTP/1.1 502 Bad Gateway", "HTTP/<n> 502 Bad Gateway"),
        ("got status code 429 after 31 ms", "got status code 429 after <n> ms"),
        ("[Errno 111] Connection refused", "[Errno 111] Connection refused"),
        ("SMTPRecipientsRefused: (550, b'no')", "SMTPRecipientsRefused: (550, b'no')"),
        ("exit status 137", "exit status 137"),
        ("302 Found", "302 Found"),
        ("code=7, took 7", "code=7, took <n>"),
        ("request failed: 404", "request failed: 404"),
    ],
)
def test_codes_stay(error: str, pattern: str) -> None:
    assert pattern_of(error=error, outcome="failed") == pattern
    assert pattern_of(error=pattern, outcome="failed") == pattern


@in_one_test(
    ("error", "pattern"),
    [
        ("timeout: 500 ms", "timeout: <n> ms"),
        ("500 rows failed", "<n> rows failed"),
        ("120 of 300 failed", "<n> of <n> failed"),
        ("300 seats are taken", "<n> seats are taken"),
        ("order 404 is gone", "order <n> is gone"),
        ("code 48213 is used up", "code <n> is used up"),
        ("postcode 404", "postcode <n>"),
    ],
)
def test_a_number_that_is_no_code_becomes_a_placeholder(error: str, pattern: str) -> None:
    assert pattern_of(error=error, outcome="failed") == pattern


def test_of_a_traceback_only_the_exception_counts() -> None:
    error = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\nKeyError: 17\n'

    assert pattern_of(error=error, outcome="failed") == "KeyError: <n>"


def test_silent_deaths_are_told_apart_by_how_they_came() -> None:
    assert pattern_of(error="", outcome="lease_lost") == "(lease ran out)"
    assert pattern_of(error=" ", outcome="failed") == "(no error text)"


def test_a_pattern_is_bounded() -> None:
    assert len(pattern_of(error="x" * 1_024, outcome="failed")) == PATTERN_MAX


def test_a_pattern_ends_with_its_last_placeholder_if_it_has_many() -> None:
    """Otherwise each length of a list would be a pattern of its own."""
    lists = [f"no orders {list(range(length))}" for length in (9, 20, 30)]

    patterns = {pattern_of(error=error, outcome="failed") for error in lists}

    assert patterns == {"no orders [" + ", ".join(["<n>"] * 8)}


def test_a_pattern_has_the_first_words() -> None:
    assert pattern_of(error="no " * 30, outcome="failed") == " ".join(["no"] * 24)


@in_one_test(
    "error",
    [
        "timeout after 31 ms on 10.0.0.1 at 2026-01-01",
        "450 deadbeef01 x",
        "status 5 " * 9,
        "1 " * 30,
        "a > " * 20,
        "1,5-" * 30,
    ],
)
def test_patterns_stay_as_they_are_when_made_again(error: str) -> None:
    """A pattern is what URLs hold."""
    once = pattern_of(error=error, outcome="failed")

    assert pattern_of(error=once, outcome="failed") == once
