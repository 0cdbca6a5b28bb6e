"""The columns of an event in the lake. This is the one place that says them: all schemas derive from it."""

from __future__ import annotations

from functools import cache
from typing import Any, Final, Literal, NamedTuple

ColumnType = Literal["string", "timestamp_ms", "int16", "int32", "int64", "bool"]
"""`timestamp_ms`: an instant, in whole milliseconds; in Parquet adjusted to UTC."""


class Column(NamedTuple):
    """A column. `nullable`: null where it does not apply to the kind of event."""

    name: str
    type: ColumnType
    nullable: bool
    meaning: str


COLUMNS: Final[tuple[Column, ...]] = (
    Column("pool", "string", False, "name of the pool"),
    Column("namespace", "string", False, "name of the namespace"),
    Column("queue", "string", False, "name of the queue"),
    Column("kind", "string", False, "what happened (docs/redis-layout.md, Events)"),
    Column("at", "timestamp_ms", False, "when, by the Redis server's clock"),
    Column("job", "string", True, "job id; null for `destroyed`"),
    Column("published", "timestamp_ms", True, "when the job was published, as its id says"),
    Column("attempt", "int32", True, "delivery, from 1; of `destroyed` jobs that were neither dead nor completed"),
    Column("wait_ms", "int64", True, "due → delivered; `published`: delay; `ready`: lateness; `rescheduled`: to due"),
    Column("run_ms", "int64", True, "delivered → acked, failed, released, or its lease lost"),
    Column("size", "int64", True, "bytes of the body; of `destroyed` the number of jobs"),
    Column("worker", "string", True, "the consumer's name"),
    Column("error", "string", True, "of `failed` and `dead`, at most 200 bytes; of `deleted` how the job had ended"),
    Column("partition", "int16", False, "of the pool"),
    Column("entry_ms", "int64", False, "id of the stream entry, the part before the dash"),
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
    import pyarrow as pa  # here, as in `files`

    types: dict[ColumnType, Any] = {
        "string": pa.string(),
        "timestamp_ms": pa.timestamp("ms", tz="UTC"),
        "int16": pa.int16(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "bool": pa.bool_(),
    }
    return pa.schema([pa.field(column.name, types[column.type], column.nullable) for column in COLUMNS])
