"""Entries of an event stream → a table with the lake's columns.

pyarrow reads the lines as tab-separated text, many times faster than Python. What it cannot read is looked at line
by line: a line that is no event of ours is left out and named, so that it holds up nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from .names import TIMES_END_MS, hour_dir
from .schema import arrow_schema

_ID_LENGTH: Final = 26
_TIME_LENGTH: Final = 10
_CROCKFORD_TO_PYTHON: Final = str.maketrans("0123456789ABCDEFGHJKMNPQRSTVWXYZ", "0123456789abcdefghijklmnopqrstuv")
"""Job ids are ULIDs: their first ten characters are the publish time in ms, in the digits of Crockford's base 32."""

_TEXT: Final = pa.string()
_LINE: Final = {
    "kind": _TEXT,
    "job": _TEXT,
    "attempt": pa.int32(),
    "wait_ms": pa.int64(),
    "run_ms": pa.int64(),
    "size": pa.int64(),
    "worker": _TEXT,
    "error": _TEXT,
}
"""Of a line, in order (docs/redis-layout.md, Events)."""

_ID: Final = {"entry_ms": pa.int64(), "entry_seq": pa.int64()}
_QUEUE: Final = {"namespace": _TEXT, "queue": _TEXT}
_TIME: Final = {"at": pa.int64()}
_PARSE: Final = csv.ParseOptions(delimiter="\t", quote_char=False, escape_char=False, ignore_empty_lines=False)
_INT_MAX: Final = {"attempt": 2**31 - 1, "wait_ms": 2**63 - 1, "run_ms": 2**63 - 1, "size": 2**63 - 1}


class Entries(NamedTuple):
    """Entries of a stream, oldest first: ids (`ms-seq`), times in ms, `namespace/queue`, and the lines of each."""

    ids: Sequence[bytes]
    times: Sequence[bytes]
    queues: Sequence[bytes]
    lines: Sequence[bytes]

    def part(self, start: int, end: int | None = None) -> Entries:
        """Some of them."""
        return Entries(*(values[start:end] for values in self))


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedEvents:
    """`table`: a row per event, in their order. `malformed`: `entry id, line N: text` of lines that are no events."""

    table: Any
    malformed: tuple[str, ...] = ()


def parse_entries(pool: str, partition: int, entries: Entries) -> ParsedEvents:
    """The events of some entries."""
    text = b"\n".join(entries.lines)
    rows, places = list(range(len(entries.ids))), [0] * len(entries.ids)
    if text.count(b"\n") >= len(rows):
        counts = [lines.count(b"\n") + 1 for lines in entries.lines]
        rows = [index for index, count in enumerate(counts) for _ in range(count)]
        places = [place for count in counts for place in range(count)]
    try:
        return ParsedEvents(table=_table(pool, partition, entries, rows, places, text))
    except (pa.ArrowException, ValueError):  # something in it is not as it should be
        return _parse_one_by_one(pool, partition, entries)


def _parse_one_by_one(pool: str, partition: int, entries: Entries) -> ParsedEvents:
    rows: list[int] = []
    places: list[int] = []
    sound: list[bytes] = []
    malformed: list[str] = []
    for index, (entry, at, queue, lines) in enumerate(zip(*entries, strict=True)):
        for place, line in enumerate(lines.split(b"\n")):
            if _is_entry(entry, at, queue) and _is_line(line):
                rows.append(index)
                places.append(place)
                sound.append(line.replace(b"\r", b" "))
            else:
                malformed.append(f"{entry.decode('utf-8', 'replace')}, line {place}: {line[:200]!r}")
    entries = entries._replace(  # rows do not point to what was left out, but its columns are converted as well
        ids=_only(entries.ids, rows, b"0-0"),
        times=_only(entries.times, rows, b"0"),
        queues=_only(entries.queues, rows, b"-/-"),
    )
    return ParsedEvents(
        table=_table(pool, partition, entries, rows, places, b"\n".join(sound)), malformed=tuple(malformed)
    )


def _only(values: Sequence[bytes], rows: Sequence[int], stand_in: bytes) -> list[bytes]:
    used = set(rows)
    return [value if index in used else stand_in for index, value in enumerate(values)]


def _table(pool: str, partition: int, entries: Entries, rows: list[int], places: list[int], text: bytes) -> Any:
    """Raises pyarrow's errors, or ValueError, if anything is not as it should be."""
    if not rows:
        return arrow_schema().empty_table()
    columns = _read(text, _LINE, len(rows))
    if columns["kind"].null_count:
        raise ValueError("a line without a kind")
    number = len(entries.ids)
    per_entry = (
        _read(b"\n".join(entries.ids).replace(b"-", b"\t"), _ID, number)
        | _read(b"\n".join(entries.queues).replace(b"/", b"\t"), _QUEUE, number)
        | _read(b"\n".join(entries.times), _TIME, number)
    )
    extremes = pc.min_max(per_entry["at"]).as_py()
    if (
        any(column.null_count for column in per_entry.values())
        or not 0 <= extremes["min"] <= extremes["max"] < TIMES_END_MS
    ):
        raise ValueError("an entry without id, queue or time")
    per_entry["at"] = per_entry["at"].cast(pa.timestamp("ms", tz="UTC"))
    if rows != list(range(number)):
        wanted = pa.array(rows, pa.int32())
        per_entry = {name: column.take(wanted) for name, column in per_entry.items()}
    constants = {
        "pool": pa.repeat(pa.scalar(pool, _TEXT), len(rows)),
        "partition": pa.repeat(pa.scalar(partition, pa.int16()), len(rows)),
        "demo": pa.repeat(pa.scalar(False), len(rows)),
    }
    columns |= per_entry | constants
    columns |= {"line": pa.array(places, pa.int16()), "published": _published(columns["job"])}
    schema = arrow_schema()
    return pa.Table.from_arrays([columns[field.name] for field in schema], schema=schema)


def _read(text: bytes, columns: dict[str, Any], rows: int) -> dict[str, Any]:
    """Tab-separated text as arrays. Raises pyarrow's errors, or ValueError if it has another number of rows."""
    try:
        text.decode()
    except UnicodeDecodeError:  # an error is any bytes, and is cut at 200 of them
        text = text.decode("utf-8", "replace").encode()
    table = csv.read_csv(
        pa.BufferReader(text),
        read_options=csv.ReadOptions(column_names=list(columns), use_threads=False, block_size=len(text) + 1),
        parse_options=_PARSE,
        convert_options=csv.ConvertOptions(column_types=columns, null_values=[""], strings_can_be_null=True),
    )
    if table.num_rows != rows:
        raise ValueError("more or fewer lines than there should be")
    return {name: table[name].combine_chunks() for name in columns}


def _published(jobs: Any) -> Any:
    """The publish times that ids carry; null where there is no id, or none of ours."""
    sound = pc.if_else(pc.equal(pc.binary_length(jobs), _ID_LENGTH), jobs, None)
    times = pc.utf8_slice_codeunits(sound, 0, _TIME_LENGTH).dictionary_encode()
    decoded = [_time_of(time) for time in times.dictionary.to_pylist()]
    return pa.array(decoded, pa.timestamp("ms", tz="UTC")).take(times.indices)


def _time_of(part: str) -> int | None:
    try:
        ms = int(part.translate(_CROCKFORD_TO_PYTHON), 32)
    except ValueError:
        return None
    return ms if ms < TIMES_END_MS else None


def _is_entry(entry: bytes, at: bytes, queue: bytes) -> bool:
    """Whether the entry around a line is as it should be."""
    id_parts, names = entry.split(b"-"), queue.split(b"/")
    return (
        len(id_parts) == len(names) == 2
        and all(names)
        and not set(queue) & set(b"\t\r\n")
        and _is_number(at, TIMES_END_MS - 1, needed=True)
        and _is_number(id_parts[0], TIMES_END_MS - 1, needed=True)
        and _is_number(id_parts[1], 2**63 - 1, needed=True)
    )


def _is_line(line: bytes) -> bool:
    """Whether a line has what every line has."""
    fields = dict(zip(_LINE, line.split(b"\t"), strict=False))
    return (
        line.count(b"\t") == len(_LINE) - 1
        and bool(fields["kind"].strip(b"\r"))
        and all(_is_number(fields[name], most) for name, most in _INT_MAX.items())
    )


def _is_number(text: bytes, most: int, *, needed: bool = False) -> bool:
    return text.isdigit() and int(text) <= most if text else not needed


def hours(times: Sequence[bytes]) -> Iterator[str]:
    """The directory in which each entry's events belong. An entry without a time is in none."""
    known: dict[int, str] = {}
    for time in times:
        try:
            hour = int(time) // 3_600_000
            if hour not in known:
                known[hour] = hour_dir(int(time))
            yield known[hour]
        except ValueError:
            yield ""
