"""The columns of an event in the lake, from which all other schemas derive, and its versions.

A file says in its footer by which version of the schema it was written (key `taskq.schema_version`).

To change the schema:

1. Keep a lake of the version until then, which a test reads for good: `python -m tests.lake.old_lakes HEAD NAME`.
2. Add columns only: nullable ones, at the end of COLUMNS, each with a meaning. No column is ever removed, renamed or
   made not nullable. Its type may only become a wider integer. Its meaning stays: a new meaning is a new column.
3. Raise VERSION, and say in VERSIONS and in docs/lake.md what is new.

Then every reader reads files of all versions: a nullable column that a file lacks is null, a narrower integer is made
wider. Files of newer versions are read, too, without the columns that are not known yet; compaction leaves them as they
are, because it would lose these columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal, NamedTuple

VERSION: Final = 3
"""Of the files that are written."""

VERSIONS: Final[Mapping[int, str]] = {
    1: "`entry_seq` was int32",
    2: "`entry_seq` is int64; later files of it have checksums of pages",
    3: "the footer says the version, and a seal before it has checksums of the footer and of all before it",
}
"""What each has brought. Files of versions 1 and 2 do not say which they are of."""

VERSION_KEY: Final = "taskq.schema_version"

SEALED_SINCE: Final = 3
"""A file that says this version or a later one has a seal (`footers`)."""

ColumnType = Literal["string", "timestamp_ms", "int16", "int32", "int64", "double", "bool"]
"""`timestamp_ms`: an instant, in whole milliseconds; in Parquet adjusted to UTC. `double`: in reports only."""


class Column(NamedTuple):
    """A column. `nullable`: null where it does not apply. `unit`: of a number, such as ms; "" if it has none. `since`:
    the version of the schema that brought it. docs/data/ is made of all this (`python -m tools.data_docs`)."""

    name: str
    type: ColumnType
    nullable: bool
    meaning: str
    unit: str = ""
    since: int = 1


COLUMNS: Final[tuple[Column, ...]] = (
    Column("pool", "string", False, "name of the pool"),
    Column("namespace", "string", False, "name of the namespace"),
    Column("queue", "string", False, "name of the queue"),
    Column("kind", "string", False, "what happened (docs/data/events.md, Kinds)"),
    Column("at", "timestamp_ms", False, "when, by the Redis server's clock"),
    Column("job", "string", True, "job id; null for `destroyed`"),
    Column("published", "timestamp_ms", True, "when the job was published, as its id says"),
    Column("attempt", "int32", True, "delivery, from 1; of `destroyed` jobs that were neither dead nor completed"),
    Column("wait_ms", "int64", True, "due → delivered; published: delay; ready: lateness; rescheduled: to due", "ms"),
    Column("run_ms", "int64", True, "delivered → acked, failed, released, or its lease lost", "ms"),
    Column("size", "int64", True, "bytes of the body; of `destroyed` the number of jobs", "bytes"),
    Column("worker", "string", True, "the consumer's name"),
    Column("error", "string", True, "of `failed` and `dead`, at most 200 bytes; of `deleted` how the job had ended"),
    Column("partition", "int16", False, "of the pool"),
    Column("entry_ms", "int64", False, "id of the stream entry, the part before the dash", "ms"),
    Column("entry_seq", "int64", False, "id of the stream entry, the part after the dash"),
    Column("line", "int16", False, "place in the entry, from 0; pool, partition, entry and line name an event"),
    Column("demo", "bool", False, "made up for demonstration"),
)  # fmt: skip
"""In the order in which files have them."""

NAMED_BY: Final = ("pool", "partition", "entry_ms", "entry_seq", "line")
"""The columns that together name an event."""

LEASE_LOST: Final = "lease lost"
"""What the error of a `dead` event says whose last lease ran out, so that nobody said a word about it."""

WAS_DEAD: Final = "was dead"
WAS_COMPLETED: Final = "was completed"
BOUND: Final = "dead-letter bound: "
"""What the error of a `deleted` event says (the last: begins with). A job that had ended already; null: a live one."""


@cache
def arrow_schema() -> Any:
    """The `pyarrow.Schema` of every file."""
    import pyarrow as pa  # here and below, as in `files`

    types: dict[ColumnType, Any] = {
        "string": pa.string(),
        "timestamp_ms": pa.timestamp("ms", tz="UTC"),
        "int16": pa.int16(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "bool": pa.bool_(),
    }
    return pa.schema([pa.field(column.name, types[column.type], column.nullable) for column in COLUMNS])


_WIDTHS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def problem_of(found: Any, *, version: int | None) -> str | None:
    """Why a file with the `pyarrow.Schema` `found` cannot be read as events; None if it can.

    `version`: None if it does not say one. Then no checksum covers the names of its columns: an unknown one beside a
    missing one is taken for a damaged name.
    """
    missing = []
    for field in arrow_schema():
        if found.get_field_index(field.name) < 0:
            if not field.nullable:
                return f"has no column {field.name}"
            missing.append(field.name)
        elif not _is_readable_as(found.field(field.name).type, field.type):
            return f"column {field.name} is {found.field(field.name).type}, not {field.type}"
    unknown = [name for name in found.names if name not in arrow_schema().names]
    if version is None and missing and unknown:
        return f"has no column {missing[0]}, but a column {unknown[0]!r}, which is unknown"
    return None


def _is_readable_as(found: Any, wanted: Any) -> bool:
    """Whether it is the same type, or a narrower integer."""
    return bool(found == wanted) or _WIDTHS.get(str(found), 99) < _WIDTHS.get(str(wanted), 0)


def encoded_schema(names: tuple[str, ...]) -> Any:
    """`arrow_schema` with these columns of text as dictionaries: each text once, and numbers of texts."""
    import pyarrow as pa

    encoded = pa.dictionary(pa.int32(), pa.string())
    return pa.schema([field.with_type(encoded) if field.name in names else field for field in arrow_schema()])


def completed(batch: Any, encoded: tuple[str, ...] = ()) -> Any:
    """A `pyarrow.RecordBatch` of a file of any version with the columns and types of `encoded_schema`."""
    import pyarrow as pa

    schema = encoded_schema(encoded)
    if batch.schema.equals(schema):
        return batch
    names = batch.schema.names
    columns = [
        batch.column(field.name).cast(field.type) if field.name in names else pa.nulls(len(batch), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
