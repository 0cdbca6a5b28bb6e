"""Whatever a body holds, it is shown, and harms nobody who looks at it."""

from __future__ import annotations

import json
import re
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.formatting import escape_visibly
from dashboard.job_bodies import (
    HEX_BYTES,
    JSON_DEPTH_MAX,
    SHOWN_BYTES,
    BodyForm,
    decode_escapes,
    lay_out_json,
    preview_line,
    show_body,
)
from tests.support.growth import grows_linearly
from tests.support.rows import in_one_test

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def test_markup_is_escaped() -> None:
    shown = show_body(b"<script>alert('x')</script>")

    assert shown.html == "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;"
    assert shown.form is BodyForm.TEXT


def test_json_is_laid_out() -> None:
    shown = show_body(b'{"a":[1,{"b":"x, [y]"}],"c":{},"d":[]}')

    assert shown.form is BodyForm.JSON
    assert re.sub("<[^>]+>", "", shown.html).replace("&quot;", '"') == (
        '{\n  "a": [\n    1,\n    {\n      "b": "x, [y]"\n    }\n  ],\n  "c": {},\n  "d": []\n}'
    )


def test_json_is_coloured_by_kind_of_value() -> None:
    shown = show_body(b'{"a":["x",-1.5e3,null]}')

    kinds = re.findall(r'<span class="json-(\w+)">([^<]+)</span>', shown.html.replace("&quot;", '"'))
    assert kinds == [("name", '"a"'), ("string", '"x"'), ("number", "-1.5e3"), ("word", "null")]


@in_one_test(
    ("written", "shown"),
    [
        (r"\u4e2d", "中"),
        (r"\ud83d\ude42", "🙂"),
        (r"\u003cb\u003e", "&lt;b&gt;"),
        (r"\\u4e2d", r"\\u4e2d"),
        (r"\u202e", r"\u202e"),
        (r"\ud83d", r"\ud83d"),
        (r"\u0022", r"\u0022"),
        (r"\u0000\n", r"\u0000\n"),
    ],
)
def test_escapes_of_what_can_be_printed_are_shown_as_characters(written: str, shown: str) -> None:
    body = show_body(f'["{written}"]'.encode())

    assert f"&quot;{shown}&quot;" in body.html
    assert body.is_decoded == (shown != written)
    assert written.replace("<", "&lt;") in show_body(f'["{written}"]'.encode(), form=BodyForm.TEXT).html


@given(values)
def test_decoding_escapes_keeps_what_json_means(value: object) -> None:
    text = json.dumps(value)

    assert json.loads(decode_escapes(text)) == value


def test_json_of_very_many_values_is_not_coloured() -> None:
    shown = show_body(f"[{','.join('1' * 20_000)}]".encode())

    assert (shown.form, "<span" in shown.html) == (BodyForm.JSON, False)


@given(values)
def test_laying_out_json_changes_blanks_only(value: object) -> None:
    text = json.dumps([value], ensure_ascii=False)

    laid_out = lay_out_json(text)

    assert laid_out is not None
    assert json.loads(laid_out) == json.loads(text)
    assert "".join(laid_out.split()) == "".join(text.split())


@in_one_test("number", ["1e400", "0.1000000000000000055", "1" * 5_000, "-0", "1E+2"])
def test_numbers_stay_as_they_were_written(number: str) -> None:
    assert lay_out_json(f"[{number}]") == f"[\n  {number}\n]"


@in_one_test("text", ["[NaN]", "[1,]", "{'a': 1}", "[", "", "word", '"a string"', "12", '["a\n"]'])
def test_what_is_no_json_object_or_array_stays_text(text: str) -> None:
    assert lay_out_json(text) is None
    assert show_body(text.encode()).form is BodyForm.TEXT


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_json_ten_thousand_deep_is_shown_as_it_came(opening: str) -> None:
    closing = "]" if opening == "[" else "}"
    text = opening * 10_000 + "1" + closing * 10_000

    shown = show_body(text.encode())

    assert shown.form is BodyForm.TEXT
    assert BodyForm.JSON not in shown.forms
    assert lay_out_json("[" * JSON_DEPTH_MAX + "]" * JSON_DEPTH_MAX) is not None


def test_json_that_would_be_all_indentation_is_shown_as_it_came() -> None:
    text = "[" * 150 + ",".join("1" * 30_000) + "]" * 150

    assert lay_out_json(text) is None
    assert lay_out_json(f"[{','.join('1' * 30_000)}]") is not None


def test_brackets_in_strings_do_not_count_as_depth() -> None:
    assert lay_out_json(json.dumps(["[" * 10_000])) is not None


def test_binary_is_shown_as_hex() -> None:
    shown = show_body(bytes(range(256)))

    assert shown.form is BodyForm.HEX
    assert not shown.is_valid_text
    assert shown.html.splitlines()[4] == (
        "00000040  40 41 42 43 44 45 46 47  48 49 4a 4b 4c 4d 4e 4f  @ABCDEFGHIJKLMNO"
    )


def test_invalid_utf_8_can_be_read_as_text_with_replacements() -> None:
    shown = show_body(b"caf\xe9 <b>", form=BodyForm.TEXT)

    assert shown.form is BodyForm.TEXT
    assert shown.html == "caf\ufffd &lt;b&gt;"
    assert not shown.is_valid_text


def test_text_can_be_read_as_hex_and_not_as_json() -> None:
    assert show_body(b"hello", form=BodyForm.HEX).html == "00000000  68 65 6c 6c 6f" + " " * 36 + "hello"
    assert show_body(b"hello", form=BodyForm.JSON).form is BodyForm.TEXT


@in_one_test(
    ("text", "marked"),
    [
        ("a\u202egnp.exe", "U+202E"),
        ("\u2066x\u2069", "U+2066"),
        ("\x00", "U+0000"),
        ("\x1b[31mred", "U+001B"),
        ("a\u200bb", "U+200B"),
        ("\ufeff{}", "U+FEFF"),
        ("\r\n", "U+000D"),
        ("\x85", "U+0085"),
        ("\u2028", "U+2028"),
        ("\U000e0041", "U+E0041"),
    ],
)
def test_what_is_invisible_or_turns_text_round_is_marked(text: str, marked: str) -> None:
    shown = show_body(text.encode(), form=BodyForm.TEXT)

    assert f'<mark class="odd">{marked}</mark>' in shown.html
    assert shown.odd >= 1
    assert text[0] not in shown.html or text[0] == "a"


def test_ordinary_text_of_all_languages_is_left_alone() -> None:
    text = "Größe 订单 שלום می‌خواهم 👩‍👩‍👧 ✓\tTab\nline"

    assert escape_visibly(text) == text


@given(st.text())
def test_no_markup_gets_through(text: str) -> None:
    html = str(escape_visibly(text)).replace('<mark class="odd">', "").replace("</mark>", "")

    assert not set(html) & set("<>\"'\x00\u202e\u2066\u200b")


def test_a_large_body_is_cut_and_says_so() -> None:
    shown = show_body(b"x" * 1024 * 1024)

    assert (shown.size, shown.shown, shown.is_cut, shown.is_long) == (1024 * 1024, SHOWN_BYTES, True, True)
    assert len(shown.html) == SHOWN_BYTES


def test_hex_of_a_large_body_is_cut_sooner() -> None:
    shown = show_body(b"\xff" * 1024 * 1024)

    assert shown.shown == HEX_BYTES
    assert len(shown.html.splitlines()) == HEX_BYTES // 16


def test_a_large_json_body_is_not_laid_out_in_part() -> None:
    shown = show_body(json.dumps(["x" * 100] * 10_000).encode())

    assert (shown.form, shown.is_cut) == (BodyForm.TEXT, True)


def test_a_character_cut_in_two_does_not_make_text_binary() -> None:
    assert show_body("é".encode()[:1], size=2).form is BodyForm.TEXT
    assert show_body(b"ab\xc3", size=3).form is BodyForm.HEX
    assert show_body(("x" * (SHOWN_BYTES - 1) + "é").encode()).is_valid_text


def test_short_bodies_are_open_and_long_ones_folded() -> None:
    assert not show_body(b"short").is_long
    assert show_body(b"line\n" * 30).is_long
    assert show_body(b"x" * 3_000).is_long


def test_a_preview_is_one_line_that_says_when_there_is_more() -> None:
    assert preview_line(b'{"a":\n 1}', size=9) == "{&quot;a&quot;: 1}"
    assert preview_line(b"x" * 256, size=300) == "x" * 80 + "…"
    assert preview_line(b"x" * 80, size=80) == "x" * 80
    assert preview_line(b"\xff\x00", size=2) == "ff 00"
    assert preview_line(b"", size=0) == ""


HOSTILE: Final = {
    "quotation marks that are escaped": ("{", '\\"', ""),
    "strings that never end": ('["', '\\"\\', ""),
    "brackets": ("", "[", ""),
    "empty lists": ("[", "[],", "1]"),
    "control characters": ("", "\x01", ""),
    "markup": ("", "<", ""),
    "blanks": ("[", " ", "]"),
    "one number": ("[", "1", "]"),
    "invisible characters": ("", "\u200b", ""),
}


@in_one_test("name", HOSTILE)
def test_showing_a_body_takes_linear_time(name: str) -> None:
    first, repeated, last = HOSTILE[name]

    def show(size: int) -> None:
        show_body((first + repeated * (size // len(repeated.encode())) + last).encode())

    assert grows_linearly(show, SHOWN_BYTES // 2 - 100)
