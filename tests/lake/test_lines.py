"""Whatever an event line holds, the lake has it as it was told; what is no event is named and holds up nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from queues.engine.constants import EVENT_LINES_MAX
from queues.engine.names import ALPHABET, published_ms
from queues.lake.lines import Entries, parse_entries
from queues.lake.names import TIMES_END_MS
from queues.lake.schema import arrow_schema

AT_MS = 1_900_000_000_000
KINDS = ["published", "consumed", "acked", "failed", "deleted", "destroyed", "of the future"]
FIELDS = ("kind", "job", "attempt", "wait_ms", "run_ms", "size", "worker", "error")

numbers = st.none() | st.integers(0, 2**62)
job_ids = st.builds(
    lambda ms, rest: "".join(ALPHABET[ms >> shift & 31] for shift in range(45, -1, -5)) + rest,
    st.integers(0, TIMES_END_MS - 1),
    st.text(ALPHABET, min_size=16, max_size=16),
)
names = st.text("abcXYZ019-_", min_size=1, max_size=20)
any_bytes = st.binary(max_size=40).map(lambda raw: raw.translate(None, b"\t\n\r"))
"""Scripts cut errors at 200 bytes, wherever that is; tabs and ends of lines were taken out before."""

lines = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(KINDS),
        "job": st.none() | job_ids,
        "attempt": st.none() | st.integers(0, 2**31 - 1),
        "wait_ms": numbers,
        "run_ms": numbers,
        "size": numbers,
        "worker": st.none() | st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=20),
        "error": st.none() | any_bytes,
    }
)
entries = st.fixed_dictionaries(
    {
        "id": st.tuples(st.integers(0, 2**42), st.integers(0, 2**63 - 1)),
        "at": st.integers(0, TIMES_END_MS - 1),
        "namespace": names,
        "queue": names,
        "lines": st.lists(lines, min_size=1, max_size=4),
    }
)


def written(line: dict[str, Any]) -> bytes:
    values = [line[field] for field in FIELDS]
    return b"\t".join(
        b"" if value is None else value if isinstance(value, bytes) else str(value).encode() for value in values
    )


def batch(told: Sequence[dict[str, Any]]) -> Entries:
    return Entries(
        [b"%d-%d" % entry["id"] for entry in told],
        [b"%d" % entry["at"] for entry in told],
        [f"{entry['namespace']}/{entry['queue']}".encode() for entry in told],
        [b"\n".join(map(written, entry["lines"])) for entry in told],
    )


def instant(ms: int | None) -> datetime | None:
    return None if ms is None else datetime.fromtimestamp(ms // 1000, tz=UTC).replace(microsecond=ms % 1000 * 1000)


def expected(told: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "pool": "p",
            "namespace": entry["namespace"],
            "queue": entry["queue"],
            "at": instant(entry["at"]),
            **line,
            "error": (line["error"] or b"").decode("utf-8", "replace") or None,
            "published": instant(published_ms(line["job"])) if line["job"] else None,
            "partition": 7,
            "entry_ms": entry["id"][0],
            "entry_seq": entry["id"][1],
            "line": place,
            "demo": False,
        }
        for entry in told
        for place, line in enumerate(entry["lines"])
    ]


def through_parquet(table: Any) -> list[dict[str, Any]]:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    back = pq.read_table(pa.BufferReader(sink.getvalue()))
    assert back.schema == arrow_schema()
    rows: list[dict[str, Any]] = back.to_pylist()
    return rows


@given(st.lists(entries, max_size=6))
def test_every_event_comes_back_from_parquet_as_it_was_told(told: list[dict[str, Any]]) -> None:
    parsed = parse_entries("p", 7, batch(told))

    assert parsed.malformed == ()
    assert through_parquet(parsed.table) == expected(told)


BAD_LINES = [
    b"",
    b"kind",
    b"\t" * 7,
    b"\tid" + b"\t" * 6,
    b"kind" + b"\t" * 8,
    b"acked\tid\tx" + b"\t" * 5,
    b"acked\tid\t\t\t%d" % (2**64) + b"\t" * 3,
]


@given(st.lists(entries, min_size=1, max_size=5), st.data())
def test_a_line_that_is_no_event_is_left_out_and_named_and_the_others_come(
    told: list[dict[str, Any]], data: st.DataObject
) -> None:
    spoilt = data.draw(st.integers(0, len(told) - 1))
    line = data.draw(st.sampled_from(BAD_LINES))
    good = batch(told)
    bad = good._replace(lines=[*good.lines[:spoilt], good.lines[spoilt] + b"\n" + line, *good.lines[spoilt + 1 :]])

    parsed = parse_entries("p", 7, bad)

    assert through_parquet(parsed.table) == expected(told)
    (named,) = parsed.malformed
    assert named.startswith("{}-{}, line {}:".format(*told[spoilt]["id"], len(told[spoilt]["lines"])))


BAD_ENTRIES: list[dict[str, bytes]] = [
    {"ids": b"not an id"},
    {"ids": b"1-2-3"},
    {"times": b"soon"},
    {"times": b"%d" % TIMES_END_MS},
    {"times": b""},
    {"queues": b"one"},
    {"queues": b"a/b/c"},
    {"queues": b"/b"},
    {"queues": b"a\t/b"},
]


@given(st.lists(entries, min_size=2, max_size=4), st.sampled_from(BAD_ENTRIES))
def test_an_entry_that_is_none_of_ours_is_left_out_and_named(told: list[dict[str, Any]], bad: dict[str, bytes]) -> None:
    good = batch(told)
    spoilt = good._replace(**{field: [value, *getattr(good, field)[1:]] for field, value in bad.items()})

    parsed = parse_entries("p", 7, spoilt)

    assert through_parquet(parsed.table) == expected(told[1:])
    assert len(parsed.malformed) == len(told[0]["lines"])


def test_an_end_of_line_within_an_error_becomes_a_space() -> None:
    line = b"failed\tjob\t1\t\t2\t\tw\tfirst\rsecond"

    parsed = parse_entries("p", 0, Entries([b"1-0"], [b"5"], [b"a/b"], [line]))

    assert parsed.table["error"].to_pylist() == ["first second"]


def test_text_that_looks_like_something_else_stays_text() -> None:
    texts = ["NULL", "nan", '"quoted"', "a,b", "\\N", "#N/A", " ", "0", "'", "é\u2028", "\x00", "\ufeff"]
    line = "\n".join(f"failed\tjob\t1\t\t2\t\tw\t{text}" for text in texts)

    parsed = parse_entries("p", 0, Entries([b"1-0"], [b"5"], [b"a/b"], [line.encode()]))

    assert parsed.table["error"].to_pylist() == texts


def test_a_job_id_that_is_none_of_ours_has_no_publish_time() -> None:
    ids = ["", "short", "U" * 26, "Z" * 26, "é" * 13, "0" * 26]
    line = "\n".join(f"deleted\t{job}\t\t\t\t\t\t" for job in ids)

    parsed = parse_entries("p", 0, Entries([b"1-0"], [b"5"], [b"a/b"], [line.encode()]))

    assert parsed.table["published"].to_pylist() == [None] * 5 + [instant(0)]


def test_as_many_lines_as_an_entry_may_have_keep_their_places() -> None:
    line = b"\n".join(b"purged\tj%d\t\t\t\t\t\t" % number for number in range(EVENT_LINES_MAX))
    count = 3

    parsed = parse_entries("p", 0, Entries([b"1-0", b"1-1", b"2-0"], [b"5"] * 3, [b"a/b"] * 3, [line] * count))

    assert parsed.table["line"].to_pylist() == list(range(EVENT_LINES_MAX)) * count
    assert parsed.table["entry_seq"].to_pylist() == [0] * 64 + [1] * 64 + [0] * 64
